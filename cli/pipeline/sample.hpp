// One response and everything the step learns about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/rollout_engine.hpp"

namespace verlc::pipeline {

/// A drawn prompt: a row twice in a step is two prompts.
struct Prompt {
  uint64_t uid = 0;  ///< unique within the run: step and place in the batch
  size_t row = 0;    ///< of the dataset
  size_t place = 0;  ///< in the global batch of the step
  std::vector<int32_t> tokens;
};

struct Sample {
  std::shared_ptr<const Prompt> prompt;
  uint64_t number = 0;  ///< 0 ... n - 1 within its prompt
  std::vector<int32_t> response;
  std::vector<float> logp;  ///< of the sampled tokens, from the rollout
  Finish finish = Finish::error;
  std::string text;  ///< decoded response
  double score = 0;
  bool scored = false;  ///< false: the scorer failed; the sample is out of the loss
};

}  // namespace verlc::pipeline
