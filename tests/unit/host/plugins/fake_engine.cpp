// A train and rollout engine without a model, written with plugin.hpp: it shows what the wrappers must carry.
#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>

#include "verlc/plugin.hpp"

struct verlc_train {
  const verlc_topology* topology = nullptr;
  verlc::plugin::MemoryBlock weights;
  std::vector<verlc::plugin::NamedTensor> exported;
  size_t next = 0;
};

struct verlc_rollout {
  std::deque<uint64_t> ids;
  std::vector<int32_t> tokens = {7, 8, 9};
  std::vector<float> logp = {-1, -2, -3};
  uint64_t version = 0;
  uint64_t pending = 0;
};

namespace {

using namespace verlc::plugin;

PluginTable& table();
const Host& host() {
  return table().host();
}

verlc_status train_create(void*, verlc_string config, const verlc_topology* topology, verlc_train** out,
                          verlc_error* error) noexcept {
  return guard(error, [&] {
    if (to_view(config) == "bad") throw Failure(VERLC_E_CONFIG, "model.path: no such folder (value: bad)");
    auto train = std::make_unique<verlc_train>();
    train->topology = topology;
    train->weights = host().allocate(host().memory_category("param"), 4 * sizeof(float));
    auto* values = static_cast<float*>(train->weights.data());
    for (int i = 0; i < 4; ++i) values[i] = static_cast<float>(i);
    *out = train.release();
  });
}
void train_destroy(verlc_train* train) noexcept {
  delete train;
}
verlc_status train_estimate(void*, verlc_string, verlc_string, verlc_sink sink, void* context,
                            verlc_error* error) noexcept {
  return guard(error, [&] { send_to_sink(sink, context, 0, "{\"phases\": {}}"); });
}

// log-prob of a token = minus its id; summed over ranks to show that the group works.
verlc_status forward_logp(verlc_train* train, const verlc_batch* batch, float* logp, float* entropy, float*,
                          verlc_error* error) noexcept {
  return guard(error, [&] {
    if (batch->num_extra != 0) throw Failure(VERLC_E_ARGUMENT, "sent an extra input that describe() lacks");
    const auto tokens = elements<const int32_t>(*batch->tokens, "tokens");
    std::vector<float> mine(tokens.begin(), tokens.end());
    host().parallel(static_cast<int32_t>(mine.size()),
                    [&](int32_t i) { mine[static_cast<size_t>(i)] *= -1; });
    Group group = host().group(train->topology->dp);
    group.all_reduce(std::span<const float>(mine), std::span<float>(mine));
    std::copy(mine.begin(), mine.end(), logp);
    if (entropy != nullptr) std::fill_n(entropy, mine.size(), 0.5f);
  });
}

verlc_status forward_backward(verlc_train*, const verlc_batch* batch, int32_t need_entropy,
                              verlc_loss_callback loss, void* context, double* loss_sum,
                              verlc_error* error) noexcept {
  return guard(error, [&] {
    const auto count = static_cast<uint64_t>(num_elements(*batch->tokens));
    std::vector<float> numbers(count, -1);
    std::vector<float> gradient(count);
    std::vector<float> entropy_gradient(count);
    auto part = make_struct<verlc_micro_batch>();
    part.token_count = count;
    part.logp = numbers.data();
    part.d_logp = gradient.data();
    part.entropy = need_entropy != 0 ? numbers.data() : nullptr;
    part.d_entropy = need_entropy != 0 ? entropy_gradient.data() : nullptr;
    auto inner = make_struct<verlc_error>();
    throw_if_failed(loss(context, &part, &inner), inner);
    host().put(host().metric("fake/d_logp", 0), std::accumulate(gradient.begin(), gradient.end(), 0.0));
    *loss_sum = part.loss;
  });
}
verlc_status optimizer_step(verlc_train*, verlc_optimizer_step* step, verlc_error*) noexcept {
  step->out_grad_norm = 2 * step->lr;
  step->out_skipped = std::isnan(step->lr) ? 1 : 0;
  return VERLC_OK;
}
verlc_status nothing(verlc_train*, verlc_error*) noexcept {
  return VERLC_OK;
}
verlc_status move_parts(verlc_train*, uint32_t, verlc_error*) noexcept {
  return VERLC_OK;
}

verlc_status export_begin(verlc_train* train, uint64_t, verlc_error* error) noexcept {
  return guard(error, [&] {
    train->exported.clear();
    train->next = 0;
    const int64_t shape[] = {2, 2};
    for (const char* name : {"a.weight", "b.weight"})
      train->exported.emplace_back(name,
                                   ManagedTensor(make_managed_tensor(train->weights.data(), kF32, shape)));
  });
}
verlc_status export_next(verlc_train* train, const verlc_named_tensor** out, uint32_t, uint32_t* count,
                         verlc_error*) noexcept {
  if (train->next == train->exported.size()) {
    *count = 0;
    return VERLC_END;
  }
  *out = train->exported[train->next].get();
  train->exported[train->next++].take();
  *count = 1;
  return VERLC_OK;
}
verlc_status save(verlc_train*, verlc_string dir, uint32_t, verlc_error* error) noexcept {
  return set_error(error, VERLC_E_IO, 0, ("cannot write " + std::string(to_view(dir))).c_str());
}
verlc_status load(verlc_train*, verlc_string, uint32_t, verlc_error*) noexcept {
  return VERLC_E_CANCELLED;
}
verlc_status train_stats(verlc_train*, verlc_memory_stat* const* out, uint32_t capacity, uint32_t* count,
                         verlc_error*) noexcept {
  *count = 1;
  if (capacity > 0) out[0]->bytes_now = 16;
  return VERLC_OK;
}

const verlc_train_api kTrain = {VERLC_HEAD(verlc_train_api),
                                nullptr,
                                train_create,
                                train_destroy,
                                train_estimate,
                                forward_logp,
                                forward_backward,
                                optimizer_step,
                                nothing,
                                move_parts,
                                move_parts,
                                export_begin,
                                export_next,
                                save,
                                load,
                                train_stats};

verlc_status rollout_create(void*, verlc_string, const verlc_topology*, verlc_rollout** out,
                            verlc_error* error) noexcept {
  return guard(error, [&] { *out = std::make_unique<verlc_rollout>().release(); });
}
void rollout_destroy(verlc_rollout* rollout) noexcept {
  delete rollout;
}
verlc_status submit(verlc_rollout* rollout, const verlc_request* const* requests, uint32_t count,
                    uint32_t* accepted, verlc_error* error) noexcept {
  return guard(error, [&] {
    *accepted = std::min<uint32_t>(count, 2);  // a short queue
    for (uint32_t i = 0; i < *accepted; ++i) {
      if (requests[i]->sampling->num_stop_strings != 1 ||
          to_view(requests[i]->sampling->stop_strings[0]) != "END")
        throw Failure(VERLC_E_ARGUMENT, "stop strings did not arrive");
      rollout->ids.push_back(requests[i]->id);
    }
    return *accepted < count ? VERLC_AGAIN : VERLC_OK;
  });
}
verlc_status poll(verlc_rollout* rollout, verlc_completion* const* out, uint32_t capacity, uint32_t* count,
                  int64_t, verlc_error*) noexcept {
  for (*count = 0; *count < capacity && !rollout->ids.empty(); ++*count) {
    verlc_completion& done = *out[*count];
    done.id = rollout->ids.front();
    rollout->ids.pop_front();
    done.weights_first = done.weights_last = rollout->version;
    done.num_tokens = rollout->tokens.size();
    done.tokens = rollout->tokens.data();
    done.logp = rollout->logp.data();
    done.finish = VERLC_FINISH_STOP;
  }
  return *count > 0 ? VERLC_OK : VERLC_END;
}
void release(verlc_rollout*, verlc_completion* const*, uint32_t) noexcept {}
verlc_status abort_requests(verlc_rollout*, const uint64_t*, uint32_t, verlc_error*) noexcept {
  return VERLC_OK;
}
verlc_status update_begin(verlc_rollout* rollout, uint64_t version, int32_t, verlc_error*) noexcept {
  rollout->pending = version;
  return VERLC_OK;
}
verlc_status update_part(verlc_rollout*, const verlc_named_tensor* const*, uint32_t, verlc_error*) noexcept {
  return VERLC_OK;
}
verlc_status update_end(verlc_rollout* rollout, int32_t commit, verlc_error*) noexcept {
  if (commit != 0) rollout->version = rollout->pending;
  return VERLC_OK;
}
verlc_status digest(verlc_rollout* rollout, verlc_sink sink, void* context, verlc_error* error) noexcept {
  return guard(error, [&] { send_to_sink(sink, context, 0, "version " + std::to_string(rollout->version)); });
}
verlc_status sleep_wake(verlc_rollout*, uint32_t, verlc_error*) noexcept {
  return VERLC_OK;
}
verlc_status rollout_stats(verlc_rollout*, verlc_memory_stat* const*, uint32_t, uint32_t* count,
                           verlc_error*) noexcept {
  *count = 0;
  return VERLC_OK;
}

const verlc_rollout_api kRollout = {VERLC_HEAD(verlc_rollout_api),
                                    nullptr,
                                    rollout_create,
                                    rollout_destroy,
                                    train_estimate,
                                    submit,
                                    poll,
                                    release,
                                    abort_requests,
                                    update_begin,
                                    update_part,
                                    update_end,
                                    digest,
                                    sleep_wake,
                                    sleep_wake,
                                    rollout_stats};

std::string describe() {
  return R"({"config": {}, "devices": ["cpu"], "deterministic": true, "concurrent": false})";
}

PluginTable& table() {
  static PluginTable instance(
      "fake-engine", "0.1",
      {{VERLC_CAPABILITY_TRAIN, &kTrain, describe}, {VERLC_CAPABILITY_ROLLOUT, &kRollout, describe}});
  return instance;
}

verlc_status open_plugin(const verlc_host* host, const verlc_plugin** out, verlc_error* error) noexcept {
  return table().open(host, out, error);
}

}  // namespace

VERLC_PLUGIN("fake-engine", "0.1", VERLC_CAPABILITY_TRAIN " " VERLC_CAPABILITY_ROLLOUT, 0, open_plugin)
