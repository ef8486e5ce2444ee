#include "rewards/math_normalise.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "rewards/decimal.hpp"

namespace verlc::math {
namespace {

constexpr size_t kNone = std::string_view::npos;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_blank(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

template <size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 13> kDropped = {"left",  "right",  "displaystyle", "textstyle", "quad",
                                                       "qquad", "degree", "limits",       "big",       "Big",
                                                       "bigl",  "bigr",   "percent"};
constexpr std::array<std::string_view, 3> kFractions = {"dfrac", "tfrac", "cfrac"};
constexpr std::array<std::string_view, 9> kTexts = {"text",   "mathrm", "textbf", "mathbf",      "mbox",
                                                    "textit", "mathit", "textrm", "operatorname"};

// A command at `at` (a backslash): its name, letters only, or the one character behind the backslash.
std::string_view command_name(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && is_letter(text[end])) ++end;
  if (end == at + 1) end = std::min(text.size(), at + 2);
  return text.substr(at + 1, end - at - 1);
}

// For each brace the place of its partner, kNone for braces without one.
std::vector<size_t> match_braces(std::string_view text) {
  std::vector<size_t> partner(text.size(), kNone), open;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      open.push_back(i);
    } else if (text[i] == '}' && !open.empty()) {
      partner[open.back()] = i;
      partner[i] = open.back();
      open.pop_back();
    }
  }
  return partner;
}

// One pass over the text that copies what stays.
class NotationPass {
 public:
  explicit NotationPass(std::string_view text)
      : text_(text), partner_(match_braces(text)), dropped_(text.size(), 0), last_(last_significant(text)) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(out_);
  }

 private:
  // The last place that is not a blank, a stop or a dollar sign.
  static size_t last_significant(std::string_view text) {
    const size_t last = text.find_last_not_of(" \t\r\n.,;$");
    return last == kNone ? 0 : last;
  }

  void step() {
    const char c = text_[at_];
    const std::string_view rest = text_.substr(at_);
    if (c == '\\') {
      command(command_name(text_, at_));
    } else if (c == '$' || c == '%' || c == '~' || dropped_[at_] != 0) {
      ++at_;
    } else if (rest.starts_with("{,}")) {
      out_ += ',';
      at_ += 3;
    } else if (rest.starts_with("\u00b0")) {
      at_ += 2;
    } else if (rest.starts_with("\u2212")) {
      out_ += '-';
      at_ += 3;
    } else {
      out_ += c;
      ++at_;
    }
  }

  void command(std::string_view name) {
    const size_t behind = at_ + 1 + name.size();
    if (among(name, kTexts)) {
      text_group(behind);
      return;
    }
    at_ = behind;
    if (name == "circ") {
      degrees();
    } else if (among(name, kFractions)) {
      out_ += "\\frac";
    } else if (name.size() == 1 && !is_letter(name[0])) {
      // \{ \} \\ \| mean something; the other one-character commands are spacing, delimiters or escaped
      // signs.
      if (std::string_view("{}\\|#&_").find(name[0]) != kNone) out_.append({'\\', name[0]});
    } else if (!among(name, kDropped)) {
      out_ += '\\';
      out_ += name;
      // The blank that ends a command name holds it apart from a letter: "\pi r" is not "\pir".
      if (behind + 1 < text_.size() && is_blank(text_[behind]) && is_letter(text_[behind + 1])) out_ += "{}";
    }
  }

  // ^\circ and ^{\circ} vanish whole.
  void degrees() {
    if (out_.ends_with("^{") && at_ < text_.size() && text_[at_] == '}') {
      out_.resize(out_.size() - 2);
      ++at_;
    } else if (out_.ends_with("^")) {
      out_.pop_back();
    } else {
      out_ += "\\circ";
    }
  }

  // \text{...}: a unit when it stands behind something and ends the answer (an exponent may follow), else its
  // content.
  void text_group(size_t behind) {
    while (behind < text_.size() && is_blank(text_[behind])) ++behind;
    at_ = behind;
    if (behind >= text_.size() || text_[behind] != '{' || partner_[behind] == kNone) return;
    const size_t close = partner_[behind];
    const bool ends_answer = close >= last_ || unit_exponent(close + 1);
    if (ends_answer && std::any_of(out_.begin(), out_.end(), [](char c) { return !is_blank(c); })) {
      at_ = text_.size();
      return;
    }
    dropped_[close] = 1;
    at_ = behind + 1;
  }

  [[nodiscard]] bool unit_exponent(size_t at) const {
    if (at >= text_.size() || text_[at] != '^') return false;
    if (at + 1 < text_.size() && text_[at + 1] == '{')
      return partner_[at + 1] != kNone && partner_[at + 1] >= last_;
    return at + 1 >= last_;
  }

  std::string_view text_;
  std::vector<size_t> partner_;
  std::vector<uint8_t> dropped_;  // closing braces of unwrapped groups
  size_t last_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

std::string without_notation(std::string_view text) {
  return NotationPass(text).run();
}

std::string without_thousands(std::string_view text) {
  std::string out;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool escaped = c == '\\' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '}');
    if (escaped) {
      depth = std::max(0, depth + (text[i + 1] == '{' ? 1 : -1));
      out.append(text.substr(i, 2));
      i += 2;
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if ((c == ')' || c == ']') && depth > 0) --depth;
    if (!is_digit(c)) {
      out += c;
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() &&
           (is_digit(text[end]) || (text[end] == ',' && end + 1 < text.size() && is_digit(text[end + 1]))))
      ++end;
    const std::string_view run = text.substr(i, end - i);
    const bool fraction_digits = i > 0 && text[i - 1] == '.';
    const auto joined =
        depth > 0 || fraction_digits || run.front() == '0' ? std::nullopt : join_thousands(run);
    out += joined ? std::string_view(*joined) : run;
    i = end;
  }
  return out;
}

std::string without_blanks(std::string_view text) {
  std::string out;
  std::copy_if(text.begin(), text.end(), std::back_inserter(out), [](char c) { return !is_blank(c); });
  return out;
}

std::string with_full_arguments(std::string_view text) {
  std::string out;
  std::vector<int> outer;  // arguments still due behind each open brace
  int due = 0;
  for (size_t i = 0; i < text.size();) {
    std::string_view token = text.substr(i, 1);
    if (token[0] == '\\') token = text.substr(i, 1 + command_name(text, i).size());
    i += token.size();
    const int behind = token == "\\frac" ? 2 : (token == "\\sqrt" || token == "^" || token == "_" ? 1 : 0);
    if (token == "{") {
      outer.push_back(std::max(0, due - 1));
      due = 0;
      out += token;
    } else if (token == "}") {
      out += token;
      due = outer.empty() ? 0 : outer.back();
      if (!outer.empty()) outer.pop_back();
    } else if (behind > 0) {
      out += token;
      due = behind;
      if (token == "\\sqrt" && i < text.size() && text[i] == '[') {
        const size_t close = std::min(text.find(']', i), text.size() - 1);
        out += text.substr(i, close + 1 - i);
        i = close + 1;
      }
    } else if (due > 0) {
      out += '{';
      out += token;
      out += '}';
      --due;
    } else {
      out += token;
    }
  }
  return out;
}

std::string bare_answer(std::string_view text) {
  while (!text.empty() && (text.back() == '.' || text.back() == ',' || text.back() == ';'))
    text.remove_suffix(1);
  const size_t equals = text.find('=');
  constexpr size_t kLongestName = 2;
  if (equals != kNone && equals <= kLongestName && text.find('=', equals + 1) == kNone)
    text.remove_prefix(equals + 1);
  const std::vector<size_t> partner = match_braces(text);
  size_t begin = 0, end = text.size();
  while (end - begin >= 2 && text[begin] == '{' && partner[begin] == end - 1) {
    ++begin;
    --end;
  }
  return std::string(text.substr(begin, end - begin));
}

}  // namespace verlc::math
