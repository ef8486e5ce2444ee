// verlc_request to Request: copied and checked.
#pragma once

#include "rollout/schedule/request.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout {

/// What a request must fit.
struct RequestRules {
  int64_t vocab = 0;
  int64_t max_model_len = 0;
  bool has_text = false;  ///< stop strings need a tokenizer
};

/// Throws Failure(VERLC_E_ARGUMENT) naming the request's id, the field, its value and the rule.
Request read_request(const verlc_request& request, const RequestRules& rules);

}  // namespace verlc::rollout
