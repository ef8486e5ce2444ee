#include "core/text/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/error.hpp"
#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

constexpr size_t kMostPatternBytes = 64 * 1024;
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;

// White_Space and its complement as class contents. PCRE2's own \s also takes U+180E, which left the
// property.
constexpr std::string_view kSpace =
    R"(\x{09}-\x{0D}\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNotSpace =
    R"(\x{00}-\x{08}\x{0E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{D7FF}\x{E000}-\x{10FFFF})";

/// Writes \s and \S out; everything else passes. A '[' directly inside a class stays literal for PCRE2.
std::string write_out_spaces(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's' || next == 'S') {
        if (!in_class) out += '[';
        out += next == 's' ? kSpace : kNotSpace;
        if (!in_class) out += ']';
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    if (in_class && c == '[' && i + 1 < pattern.size() && pattern[i + 1] == ':') {
      const size_t close = pattern.find(":]", i + 2);  // a POSIX name such as [:alpha:]
      if (close != std::string_view::npos) {
        out += pattern.substr(i, close + 2 - i);
        i = close + 1;
        continue;
      }
    }
    out += c;
    if (!in_class && c == '[') {
      in_class = true;
      if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
      if (i + 1 < pattern.size() && pattern[i + 1] == ']') out += pattern[++i];
    } else if (in_class && c == ']') {
      in_class = false;
    }
  }
  return out;
}

struct MatchData {
  pcre2_match_data* data;
  pcre2_match_context* context;
  explicit MatchData(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  MatchData(const MatchData&) = delete;
  MatchData& operator=(const MatchData&) = delete;
  ~MatchData() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

std::string message_of(int code) {
  unsigned char text[256];
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  std::string pattern;
  std::string where;
  ~Compiled() { pcre2_code_free(code); }
};

Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Regex::Regex(std::string_view pattern, std::string where) : compiled_(std::make_unique<Compiled>()) {
  compiled_->pattern = pattern;
  compiled_->where = std::move(where);
  const std::string source = write_out_spaces(pattern);
  int error = 0;
  size_t offset = 0;
  if (source.size() <= kMostPatternBytes) {
    compiled_->code =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.data()), source.size(),
                      PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  }
  if (compiled_->code == nullptr) {
    const std::string reason = error != 0 ? message_of(error) : "longer than 64 KiB";
    fail_input({.what = "regular expression does not compile: " + reason,
                .where = compiled_->where,
                .value = to_valid_utf8(pattern.substr(0, 200)),
                .fix = "use a pattern that PCRE2 understands"});
  }
  // Without JIT (a hardened kernel may forbid it) matching still works, only slower.
  pcre2_jit_compile(compiled_->code, PCRE2_JIT_COMPLETE);
}

std::vector<Range> Regex::find_all(std::string_view text) const {
  std::vector<Range> found;
  const MatchData match(compiled_->code);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t at = 0;
  bool after_match = false;
  while (at <= text.size()) {
    int count =
        pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, match.data, match.context);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) {
      count = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          match.data, match.context);
    }
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      fail_run({.what = "regular expression gave up on a text: " + message_of(count),
                .where = compiled_->where,
                .value = compiled_->pattern.substr(0, 200),
                .fix = "simplify the pattern or shorten the text"});
    }
    const size_t* bounds = pcre2_get_ovector_pointer(match.data);
    // \K in a lookaround can put the end before the start; such a match says nothing.
    const Range range{bounds[0], bounds[1] < bounds[0] ? bounds[0] : bounds[1]};
    const bool empty = range.begin == range.end;
    if (range.begin < (found.empty() ? 0 : found.back().end)) break;
    if (!(empty && after_match && !found.empty() && range.end == found.back().end)) found.push_back(range);
    after_match = true;
    at = range.end;
    if (empty) {
      const size_t step = decode_at(text, at).size;
      at += step == 0 ? 1 : step;
    }
  }
  return found;
}

std::string Regex::replace_all(std::string_view text, std::string_view with) const {
  std::string out;
  size_t last = 0;
  for (const Range& range : find_all(text)) {
    out.append(text.substr(last, range.begin - last));
    out.append(with);
    last = range.end;
  }
  out.append(text.substr(last));
  return out;
}

}  // namespace verlc::text
