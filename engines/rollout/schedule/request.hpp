// What is asked of the engine and what it answers, copied from the caller: no pointer of the ABI is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verlc::rollout {

/// How tokens are chosen; the fields of verlc_sampling.
struct Sampling {
  double temperature = 1;         ///< 0 = greedy
  double top_p = 1;               ///< (0, 1]; 1 = off
  double min_p = 0;               ///< [0, 1); 0 = off
  double repetition_penalty = 1;  ///< > 0; 1 = off
  int64_t top_k = 0;              ///< <= 0 = off
  int64_t max_new_tokens = 0;
  int64_t min_new_tokens = 0;  ///< nothing ends the response before, but its length
  std::vector<int32_t> stop_ids;
  std::vector<std::string> stop_strings;
  bool ignore_eos = false;
};

struct Request {
  uint64_t id = 0;
  uint64_t seed = 0;
  uint64_t prefix = 0;  ///< not 0: requests with this value and an equal prompt share its pages
  std::vector<int32_t> prompt;
  Sampling sampling;
  int64_t priority = 0;  ///< larger first
  uint64_t cancel_scope = 0;
};

/// Why a response ended; the values of VERLC_FINISH_...
enum class Finish : int32_t { stop = 0, length = 1, aborted = 2, error = 3 };

/// The answer to one request.
struct Response {
  uint64_t id = 0;
  uint64_t weights_first = 0;  ///< versions that made the first and the last token
  uint64_t weights_last = 0;
  std::vector<int32_t> tokens;
  std::vector<float> logp;
  Finish finish = Finish::stop;
};

}  // namespace verlc::rollout
