// What is wrong with a recipe: every problem found, not only the first.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace verlc {

/// Where a value came from: a file and its line, or "--set" with line 0.
struct Origin {
  std::string file;
  int64_t line = 0;
};

/// One broken rule.
struct Problem {
  std::string key;    ///< dotted path; empty for a fault of the file as a whole
  Origin origin;      ///< empty file: the value is a default
  std::string value;  ///< as found; empty when nothing was there
  std::string rule;   ///< what must hold
  std::string fix;    ///< what to do

  /// "file:line key", "--set key" or "key".
  [[nodiscard]] std::string where() const;
};

/// The problems and remarks collected about one recipe.
class Problems {
 public:
  /// Remembers where the value of `key` stands; add() then fills in the origin.
  void set_origin(const std::string& key, Origin origin) { origins_[key] = std::move(origin); }
  /// Whether the recipe or --set gives `key` (rather than its default).
  [[nodiscard]] bool is_given(const std::string& key) const { return origins_.contains(key); }
  /// Whether `key` already has a problem; rules that depend on it are skipped.
  [[nodiscard]] bool is_bad(const std::string& key) const { return bad_.contains(key); }

  void add(const std::string& key, std::string value, std::string rule, std::string fix);
  /// The same where the origin is known.
  void add_at(Origin origin, const std::string& key, std::string value, std::string rule, std::string fix);
  /// A remark that does not stop the run, such as a key without effect here.
  void note(const std::string& key, std::string text);

  [[nodiscard]] bool empty() const { return list_.empty(); }
  /// Sorted by file, line and key.
  [[nodiscard]] std::vector<Problem> sorted() const;
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::map<std::string, Origin> origins_;
  std::set<std::string> bad_;
  std::vector<Problem> list_;
  std::vector<std::string> notes_;
};

/// All problems as one fault for main: a single one as it is, several as a numbered list.
ErrorText problems_as_error(const std::string& recipe_path, const std::vector<Problem>& problems);

}  // namespace verlc
