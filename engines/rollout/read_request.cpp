#include "rollout/read_request.hpp"

#include <fmt/core.h>

#include <cmath>

namespace verlc::rollout {
namespace {

/// Says which request is wrong.
class Checker {
 public:
  explicit Checker(uint64_t id) : id_(id) {}
  void require(bool holds, const std::string& message) const {
    if (!holds) throw plugin::Failure(VERLC_E_ARGUMENT, fmt::format("request {}: {}", id_, message));
  }

 private:
  uint64_t id_;
};

Sampling read_sampling(const verlc_sampling& from, const Checker& check, const RequestRules& rules) {
  Sampling to;
  to.temperature = from.temperature;
  to.top_p = from.top_p;
  to.min_p = from.min_p;
  to.repetition_penalty = from.repetition_penalty;
  to.top_k = from.top_k;
  to.max_new_tokens = from.max_new_tokens;
  to.min_new_tokens = from.min_new_tokens;
  to.ignore_eos = from.ignore_eos != 0;
  check.require(
      std::isfinite(to.temperature) && to.temperature >= 0 && (to.temperature == 0 || to.temperature >= 1e-3),
      fmt::format("temperature = {}, must be 0 or at least 0.001", to.temperature));
  check.require(to.top_p > 0 && to.top_p <= 1, fmt::format("top_p = {}, must be in (0, 1]", to.top_p));
  check.require(to.min_p >= 0 && to.min_p < 1, fmt::format("min_p = {}, must be in [0, 1)", to.min_p));
  check.require(std::isfinite(to.repetition_penalty) && to.repetition_penalty > 0,
                fmt::format("repetition_penalty = {}, must be above 0", to.repetition_penalty));
  check.require(to.max_new_tokens >= 1,
                fmt::format("max_new_tokens = {}, must be at least 1", to.max_new_tokens));
  for (uint64_t i = 0; i < from.num_stop_ids; ++i) to.stop_ids.push_back(from.stop_ids[i]);
  for (uint64_t i = 0; i < from.num_stop_strings; ++i) {
    to.stop_strings.emplace_back(plugin::to_view(from.stop_strings[i]));
    check.require(!to.stop_strings.back().empty(), "a stop string is empty");
  }
  check.require(to.stop_strings.empty() || rules.has_text,
                "stop strings need the model folder's tokenizer.json, which is absent");
  return to;
}

}  // namespace

Request read_request(const verlc_request& request, const RequestRules& rules) {
  const Checker check(request.id);
  check.require(VERLC_HAS(&request, verlc_request, cancel_scope), "the struct is smaller than ABI 1.0's");
  check.require(request.sampling != nullptr && VERLC_HAS(request.sampling, verlc_sampling, ignore_eos),
                "no sampling options of ABI 1.0");
  Request copy;
  copy.id = request.id;
  copy.seed = request.seed;
  copy.prefix = request.prefix;
  copy.priority = request.priority;
  copy.cancel_scope = request.cancel_scope;
  check.require(request.num_prompt >= 1 && request.prompt != nullptr, "the prompt is empty");
  check.require(
      request.num_prompt < static_cast<uint64_t>(rules.max_model_len),
      fmt::format("the prompt has {} tokens, but max_model_len = {} must hold it and one token more",
                  request.num_prompt, rules.max_model_len));
  copy.prompt.assign(request.prompt, request.prompt + request.num_prompt);
  for (size_t i = 0; i < copy.prompt.size(); ++i)
    check.require(
        copy.prompt[i] >= 0 && copy.prompt[i] < rules.vocab,
        fmt::format("token {} of the prompt is {}, the vocabulary has {}", i, copy.prompt[i], rules.vocab));
  copy.sampling = read_sampling(*request.sampling, check, rules);
  return copy;
}

}  // namespace verlc::rollout
