// What a whole step's memory should come to, by formula.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/model_work.hpp"

namespace verlc::bench {

/// Parts in bytes. All float32.
class MemoryBar {
 public:
  /// `micro_tokens`: of a micro-batch.
  MemoryBar(const ModelWork& model, const StepShape& step, double micro_tokens, bool reference);

  [[nodiscard]] double total() const;
  [[nodiscard]] const std::vector<std::pair<std::string, double>>& parts() const { return parts_; }

 private:
  std::vector<std::pair<std::string, double>> parts_;
};

/// The most memory that this process ever had resident, bytes.
double peak_resident_bytes();

}  // namespace verlc::bench
