#include "core/text/pattern.hpp"

#include "core/text/unicode.hpp"

namespace verlc::text {

Pattern::Pattern(const JsonField& field) {
  if (field.value->is_string()) {
    literal_ = field.string();
  } else if (field.has("String")) {
    literal_ = field.at("String").string();
  } else if (field.has("Regex")) {
    regex_.emplace(field.at("Regex").string(), field.where);
  } else {
    field.broken("must be {\"String\": ...} or {\"Regex\": ...}");
  }
}

std::vector<Range> Pattern::find_all(std::string_view text) const {
  if (regex_) return regex_->find_all(text);
  std::vector<Range> found;
  if (literal_.empty()) return found;
  for (size_t at = text.find(literal_); at != std::string_view::npos;
       at = text.find(literal_, at + literal_.size())) {
    found.push_back({at, at + literal_.size()});
  }
  return found;
}

std::string Pattern::replace_all(std::string_view text, std::string_view with) const {
  std::string out;
  out.reserve(text.size());
  size_t last = 0;
  for (const Range& range : find_all(text)) {
    out.append(text.substr(last, range.begin - last));
    out.append(with);
    last = range.end;
  }
  out.append(text.substr(last));
  return out;
}

bool Pattern::is_one_code_point() const {
  return !regex_ && count_code_points(literal_) <= 1;
}

}  // namespace verlc::text
