// How long the response to a row has been, so that the longest are begun first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace verlc::pipeline {

/// Only an order of work depends on these: a wrong hint costs time and changes no result, and they are not
/// saved.
class LengthHints {
 public:
  void note(size_t row, size_t response_length);
  /// Tokens to expect of a prompt's response: the mean of the row's last noted ones, else that of all rows.
  [[nodiscard]] int64_t expected(size_t row) const;

 private:
  struct Mean {
    double sum = 0, count = 0;
  };
  static void add(Mean& mean, double value);
  static double value(const Mean& mean);
  std::unordered_map<size_t, Mean> rows_;
  Mean all_;
};

}  // namespace verlc::pipeline
