#include "host/rollout_engine.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "host/engine_calls.hpp"
#include "verlc/cpp/guard.hpp"

namespace verlc {
namespace {

// The structs of a submit(), with the strings that they point to.
struct AbiRequests {
  std::vector<verlc_sampling> sampling;
  std::vector<std::vector<verlc_string>> stops;
  std::vector<verlc_request> requests;
  std::vector<const verlc_request*> pointers;

  explicit AbiRequests(std::span<const RolloutRequest> wanted) {
    const SamplingParameters defaults;
    sampling.reserve(wanted.size());
    stops.reserve(wanted.size());
    requests.reserve(wanted.size());
    for (const RolloutRequest& request : wanted) {
      add_sampling(request.sampling != nullptr ? *request.sampling : defaults);
      auto row = plugin::make_struct<verlc_request>();
      row.id = request.id;
      row.seed = request.seed;
      row.prefix = request.prefix;
      row.prompt = request.prompt.data();
      row.num_prompt = request.prompt.size();
      row.sampling = &sampling.back();
      row.priority = request.priority;
      requests.push_back(row);
      pointers.push_back(&requests.back());
    }
  }

 private:
  // The defaults outlive nothing that the structs point to: they have no stop ids and no stop strings.
  void add_sampling(const SamplingParameters& from) {
    auto row = plugin::make_struct<verlc_sampling>();
    row.temperature = from.temperature;
    row.top_p = from.top_p;
    row.min_p = from.min_p;
    row.repetition_penalty = from.repetition_penalty;
    row.top_k = from.top_k;
    row.max_new_tokens = from.max_new_tokens;
    row.min_new_tokens = from.min_new_tokens;
    row.stop_ids = from.stop_ids.data();
    row.num_stop_ids = from.stop_ids.size();
    std::vector<verlc_string> texts;
    for (const std::string& text : from.stop_strings) texts.push_back(plugin::to_abi(text));
    stops.push_back(std::move(texts));
    row.stop_strings = stops.back().data();
    row.num_stop_strings = stops.back().size();
    row.ignore_eos = from.ignore_eos ? 1 : 0;
    sampling.push_back(row);
  }
};

Completion to_completion(const verlc_completion& done) {
  Completion completion{.id = done.id,
                        .weights_first = done.weights_first,
                        .weights_last = done.weights_last,
                        .tokens = {},
                        .logp = {},
                        .finish = static_cast<Finish>(done.finish)};
  if (done.num_tokens > 0) {
    completion.tokens.assign(done.tokens, done.tokens + done.num_tokens);
    completion.logp.assign(done.logp, done.logp + done.num_tokens);
  }
  return completion;
}

}  // namespace

RolloutEngine::RolloutEngine(std::shared_ptr<Plugin> plugin, const std::string& config,
                             const verlc_topology& topology)
    : plugin_(std::move(plugin)), api_(plugin_->capability<verlc_rollout_api>(VERLC_CAPABILITY_ROLLOUT)) {
  if (!VERLC_HAS(api_, verlc_rollout_api, memory_stats))
    fail_input({.what = "its rollout table is too short",
                .where = plugin_->path().string(),
                .value = {},
                .fix = {}});
  auto error = plugin::make_struct<verlc_error>();
  finish("create", api_->create(api_->self, plugin::to_abi(config), &topology, &rollout_, &error), error);
}

RolloutEngine::~RolloutEngine() {
  if (rollout_ != nullptr) api_->destroy(rollout_);
}

Outcome RolloutEngine::finish(std::string_view call, verlc_status status, const verlc_error& error) const {
  return check_call(plugin_->id(), call, status, error);
}

std::string RolloutEngine::estimate(const Plugin& plugin, const std::string& config,
                                    const std::string& workload) {
  return call_estimate(plugin, *plugin.capability<verlc_rollout_api>(VERLC_CAPABILITY_ROLLOUT), config,
                       workload);
}

size_t RolloutEngine::submit(std::span<const RolloutRequest> requests) {
  const AbiRequests rows(requests);
  uint32_t accepted = 0;
  auto error = plugin::make_struct<verlc_error>();
  finish(
      "submit",
      api_->submit(rollout_, rows.pointers.data(), static_cast<uint32_t>(requests.size()), &accepted, &error),
      error);
  return accepted;
}

Outcome RolloutEngine::poll(std::vector<Completion>& out, size_t most,
                            std::optional<std::chrono::nanoseconds> timeout) {
  std::vector<verlc_completion> rows(most, plugin::make_struct<verlc_completion>());
  std::vector<verlc_completion*> pointers;
  for (verlc_completion& row : rows) pointers.push_back(&row);
  uint32_t count = 0;
  auto error = plugin::make_struct<verlc_error>();
  const Outcome outcome = finish("poll",
                                 api_->poll(rollout_, pointers.data(), static_cast<uint32_t>(most), &count,
                                            timeout ? timeout->count() : -1, &error),
                                 error);
  count = std::min<uint32_t>(count, static_cast<uint32_t>(most));
  for (uint32_t i = 0; i < count; ++i) out.push_back(to_completion(rows[i]));
  if (count > 0) api_->release(rollout_, pointers.data(), count);
  return outcome;
}

void RolloutEngine::abort(std::span<const uint64_t> ids) {
  auto error = plugin::make_struct<verlc_error>();
  finish("abort", api_->abort(rollout_, ids.data(), static_cast<uint32_t>(ids.size()), &error), error);
}

void RolloutEngine::update_begin(uint64_t version, bool keep_inflight) {
  auto error = plugin::make_struct<verlc_error>();
  finish("update_begin", api_->update_begin(rollout_, version, keep_inflight ? 1 : 0, &error), error);
}

void RolloutEngine::update_part(std::span<const verlc_named_tensor* const> weights) {
  auto error = plugin::make_struct<verlc_error>();
  finish("update_part",
         api_->update_part(rollout_, weights.data(), static_cast<uint32_t>(weights.size()), &error), error);
}

void RolloutEngine::update_end(bool commit) {
  auto error = plugin::make_struct<verlc_error>();
  finish("update_end", api_->update_end(rollout_, commit ? 1 : 0, &error), error);
}

std::string RolloutEngine::digest() {
  std::string text;
  auto error = plugin::make_struct<verlc_error>();
  finish("digest", api_->digest(rollout_, plugin::append_to_string, &text, &error), error);
  return text;
}

void RolloutEngine::sleep(uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("sleep", api_->sleep(rollout_, parts, &error), error);
}

void RolloutEngine::wake(uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("wake", api_->wake(rollout_, parts, &error), error);
}

std::vector<verlc_memory_stat> RolloutEngine::memory_stats() {
  return call_memory_stats(*plugin_, *api_, rollout_);
}

WeightUpdate::~WeightUpdate() {
  if (!open_) return;
  try {
    engine_.update_end(false);
  } catch (const Error&) {
    // An exception is already on its way, or the caller left without commit; the engine tells at its next
    // call.
  }
}

void WeightUpdate::commit() {
  open_ = false;
  engine_.update_end(true);
}

}  // namespace verlc
