#include "rollout/api.hpp"

#include "core/base/engine_guard.hpp"
#include "rollout/engine.hpp"
#include "rollout/estimate.hpp"

struct verlc_rollout {
  verlc::rollout::Engine engine;
};

namespace verlc::rollout {
namespace {

using plugin::Failure;

void require_argument(bool holds, const char* rule) {
  if (!holds) throw Failure(VERLC_E_ARGUMENT, rule);
}

plugin::PluginTable& table();

int64_t budget_left(const plugin::Host& host) {
  constexpr int64_t kUnlimited = int64_t{8} << 30;
  uint64_t limit = UINT64_MAX;
  uint64_t used = 0;
  if (host.memory() != nullptr)
    host.memory()->budget(host.memory()->self, VERLC_DEVICE_CPU, 0, &limit, &used);
  return limit > static_cast<uint64_t>(INT64_MAX) ? kUnlimited
                                                  : static_cast<int64_t>(limit - std::min(limit, used));
}

verlc_status create(void*, verlc_string config, const verlc_topology* topology, verlc_rollout** out,
                    verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    require_argument(out != nullptr, "create: no place for the result");
    const plugin::Host& host = table().host();
    host.require_all();
    if (topology != nullptr) {
      if (topology->device_type != VERLC_DEVICE_CPU)
        throw Failure(VERLC_E_UNSUPPORTED, "this engine runs on the CPU only");
      if (topology->tp != nullptr && host.group(topology->tp).size() > 1)
        throw Failure(VERLC_E_UNSUPPORTED, "this engine has no tensor parallelism");
    }
    *out = new verlc_rollout{Engine(host, parse_rollout_config(plugin::to_view(config)))};
  });
}

void destroy(verlc_rollout* rollout) noexcept {
  delete rollout;
}

verlc_status estimate(void*, verlc_string config, verlc_string workload, verlc_sink sink, void* context,
                      verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    const std::string json = estimate_rollout(parse_rollout_config(plugin::to_view(config)),
                                              plugin::to_view(workload), budget_left(table().host()));
    plugin::send_to_sink(sink, context, 0, json);
  });
}

verlc_status submit(verlc_rollout* rollout, const verlc_request* const* requests, uint32_t count,
                    uint32_t* accepted, verlc_error* error) noexcept {
  return engine_guard(error, [&]() -> verlc_status {
    require_argument(accepted != nullptr, "submit: no place for the number accepted");
    *accepted = static_cast<uint32_t>(rollout->engine.submit({requests, count}));
    return *accepted < count ? VERLC_AGAIN : VERLC_OK;
  });
}

verlc_status poll(verlc_rollout* rollout, verlc_completion* const* out, uint32_t capacity, uint32_t* count,
                  int64_t timeout_ns, verlc_error* error) noexcept {
  return engine_guard(error, [&]() -> verlc_status {
    require_argument(count != nullptr && capacity > 0, "poll: no place for a result");
    *count = 0;
    for (uint32_t i = 0; i < capacity; ++i)
      require_argument(VERLC_HAS(out[i], verlc_completion, engine_data),
                       "poll: a struct is smaller than ABI 1.0's");
    std::vector<std::unique_ptr<Response>> responses;
    responses.reserve(capacity);
    const verlc_status status = rollout->engine.poll(responses, capacity, timeout_ns);
    for (std::unique_ptr<Response>& response : responses) {
      verlc_completion& to = *out[(*count)++];
      to.id = response->id;
      to.weights_first = response->weights_first;
      to.weights_last = response->weights_last;
      to.num_tokens = response->tokens.size();
      to.tokens = response->tokens.data();
      to.logp = response->logp.data();
      to.finish = static_cast<int32_t>(response->finish);
      to.engine_data = response.release();
    }
    return status;
  });
}

void release(verlc_rollout*, verlc_completion* const* completions, uint32_t count) noexcept {
  for (uint32_t i = 0; i < count; ++i) {
    delete static_cast<Response*>(completions[i]->engine_data);
    completions[i]->engine_data = nullptr;
    completions[i]->tokens = nullptr;
    completions[i]->logp = nullptr;
    completions[i]->num_tokens = 0;
  }
}

verlc_status abort_requests(verlc_rollout* rollout, const uint64_t* ids, uint32_t count,
                            verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.abort({ids, count}); });
}

verlc_status update_begin(verlc_rollout* rollout, uint64_t version, int32_t keep_inflight,
                          verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.update_begin(version, keep_inflight != 0); });
}

verlc_status update_part(verlc_rollout* rollout, const verlc_named_tensor* const* weights, uint32_t count,
                         verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.update_part({weights, count}); });
}

verlc_status update_end(verlc_rollout* rollout, int32_t commit, verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.update_end(commit != 0); });
}

verlc_status digest(verlc_rollout* rollout, verlc_sink sink, void* context, verlc_error* error) noexcept {
  return engine_guard(error, [&] { plugin::send_to_sink(sink, context, 0, rollout->engine.digest()); });
}

verlc_status sleep_parts(verlc_rollout* rollout, uint32_t parts, verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.sleep(parts); });
}

verlc_status wake_parts(verlc_rollout* rollout, uint32_t parts, verlc_error* error) noexcept {
  return engine_guard(error, [&] { rollout->engine.wake(parts); });
}

verlc_status memory_stats(verlc_rollout* rollout, verlc_memory_stat* const* out, uint32_t capacity,
                          uint32_t* count, verlc_error* error) noexcept {
  return engine_guard(error, [&] {
    require_argument(count != nullptr, "memory_stats: no place for the count");
    *count = 0;
    for (const Engine::Usage& usage : rollout->engine.memory_usage()) {
      if (*count == capacity) break;
      verlc_memory_stat& to = *out[(*count)++];
      to.category = usage.category;
      to.device_type = VERLC_DEVICE_CPU;
      to.device_id = 0;
      to.bytes_now = usage.now;
      to.bytes_peak = usage.peak;
    }
  });
}

const verlc_rollout_api kApi = {VERLC_HEAD(verlc_rollout_api),
                                nullptr,
                                create,
                                destroy,
                                estimate,
                                submit,
                                poll,
                                release,
                                abort_requests,
                                update_begin,
                                update_part,
                                update_end,
                                digest,
                                sleep_parts,
                                wake_parts,
                                memory_stats};

plugin::PluginTable& table() {
  static plugin::PluginTable instance(kPluginId, kPluginVersion,
                                      {{VERLC_CAPABILITY_ROLLOUT, &kApi, describe_rollout}});
  return instance;
}

}  // namespace

verlc_status open_plugin(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept {
  return table().open(host, out, error);
}

}  // namespace verlc::rollout
