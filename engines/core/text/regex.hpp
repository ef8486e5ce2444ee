// Regular expressions of tokenizer files, on PCRE2 with Unicode properties.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace verlc::text {

/// A byte range [begin, end) of a text.
struct Range {
  size_t begin = 0;
  size_t end = 0;
};

/// A compiled pattern. Immutable after construction; any number of threads may search with it at once.
/// \s and \S mean Unicode White_Space exactly, inside and outside of classes.
class Regex {
 public:
  /// Throws Error(input) naming `where`, the pattern and PCRE2's reason when it does not compile.
  explicit Regex(std::string_view pattern, std::string where = "regular expression");
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  /// Every match from left to right, none overlapping; matches may be empty. `text` must be well-formed
  /// UTF-8. Throws Error(run) when the pattern needs more steps than the built-in limit.
  [[nodiscard]] std::vector<Range> find_all(std::string_view text) const;

  /// `text` with every match replaced by `with`, taken literally.
  [[nodiscard]] std::string replace_all(std::string_view text, std::string_view with) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace verlc::text
