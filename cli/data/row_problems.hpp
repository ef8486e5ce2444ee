// Everything that is wrong with a data file, told as one error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace verlc {

/// Collects broken rows; keeps the first few and counts the rest.
class RowProblems {
 public:
  explicit RowProblems(std::string file) : file_(std::move(file)) {}

  /// `line` is 1-based, 0 for the file as a whole; `key` may be empty.
  void add(size_t line, const std::string& key, std::string what, std::string value = {},
           std::string fix = {});
  [[nodiscard]] size_t count() const { return count_; }
  /// Throws Error(input) "file:line: key: what" for the first problem, with up to 5 more behind it; returns
  /// when there is none.
  void fail_if_any() const;

 private:
  std::string file_;
  std::vector<ErrorText> first_;
  size_t count_ = 0;
};

}  // namespace verlc
