#include "host/train_engine.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "host/cancel_service.hpp"
#include "host/engine_calls.hpp"
#include "verlc/cpp/tensor.hpp"

namespace verlc {
namespace {

constexpr uint32_t kBucketCapacity = 256;
constexpr const char* kSharedPrefix = "shared_prefix";

// Whether describe() lists an extra input.
bool takes_extra(const Plugin& plugin, const std::string& name) {
  const auto json = nlohmann::json::parse(plugin.describe(VERLC_CAPABILITY_TRAIN), nullptr, false);
  if (!json.is_object() || !json.contains("extra") || !json["extra"].is_array()) return false;
  const auto& names = json["extra"];
  return std::find(names.begin(), names.end(), nlohmann::json(name)) != names.end();
}

// A verlc_batch with the views that it points to.
class AbiBatch {
 public:
  AbiBatch(const PackedBatch& batch, bool with_shared_prefix)
      : tokens_(batch.tokens.data(), {static_cast<int64_t>(batch.tokens.size())}),
        positions_(batch.positions.data(), {static_cast<int64_t>(batch.positions.size())}),
        cu_seqlens_(batch.cu_seqlens.data(), {static_cast<int64_t>(batch.cu_seqlens.size())}),
        loss_mask_(batch.loss_mask.data(), {static_cast<int64_t>(batch.loss_mask.size())}),
        temperature_(batch.temperature.data(), {static_cast<int64_t>(batch.temperature.size())}) {
    check(batch.positions.size() == batch.tokens.size() && batch.loss_mask.size() == batch.tokens.size() &&
              !batch.cu_seqlens.empty() &&
              batch.cu_seqlens.back() == static_cast<int32_t>(batch.tokens.size()) &&
              (batch.temperature.empty() || batch.temperature.size() + 1 == batch.cu_seqlens.size()),
          "the arrays of a packed batch belong together");
    batch_ = plugin::make_struct<verlc_batch>();
    batch_.tokens = tokens_.get();
    batch_.positions = positions_.get();
    batch_.cu_seqlens = cu_seqlens_.get();
    batch_.loss_mask = loss_mask_.get();
    batch_.temperature = batch.temperature.empty() ? nullptr : temperature_.get();
    batch_.micro_batch_sequences = batch.micro_batch_sequences;
    batch_.micro_batch_tokens = batch.micro_batch_tokens;
    batch_.cancel_scope = kStepScope;
    if (!with_shared_prefix || batch.shared_prefix.empty()) return;
    check(batch.shared_prefix.size() + 2 == 2 * batch.cu_seqlens.size(), "a shared prefix for each sequence");
    const int64_t shape[] = {static_cast<int64_t>(batch.shared_prefix.size() / 2), 2};
    shared_prefix_.emplace(kSharedPrefix, plugin::ManagedTensor(plugin::make_managed_tensor(
                                              batch.shared_prefix.data(), plugin::kI32, shape)));
    extra_ = shared_prefix_->get();
    batch_.extra = &extra_;
    batch_.num_extra = 1;
  }
  AbiBatch(const AbiBatch&) = delete;
  AbiBatch& operator=(const AbiBatch&) = delete;
  [[nodiscard]] const verlc_batch* get() const { return &batch_; }

 private:
  plugin::TensorView tokens_;
  plugin::TensorView positions_;
  plugin::TensorView cu_seqlens_;
  plugin::TensorView loss_mask_;
  plugin::TensorView temperature_;
  std::optional<plugin::NamedTensor> shared_prefix_;
  const verlc_named_tensor* extra_ = nullptr;
  verlc_batch batch_{};
};

// Carries the loss function and what it threw through the engine.
struct LossCall {
  const LossFunction& loss;
  std::exception_ptr thrown;

  static verlc_status run(void* context, verlc_micro_batch* micro_batch, verlc_error* error) noexcept {
    auto& call = *static_cast<LossCall*>(context);
    try {
      call.loss(*micro_batch);
      return VERLC_OK;
    } catch (...) {
      call.thrown = std::current_exception();
      return verlc_fail(error, VERLC_E_INTERNAL, "the loss failed");
    }
  }
};

float* data_or_null(std::span<float> values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

TrainEngine::TrainEngine(std::shared_ptr<Plugin> plugin, const std::string& config,
                         const verlc_topology& topology)
    : plugin_(std::move(plugin)), api_(plugin_->capability<verlc_train_api>(VERLC_CAPABILITY_TRAIN)) {
  if (!VERLC_HAS(api_, verlc_train_api, memory_stats))
    fail_input(
        {.what = "its train table is too short", .where = plugin_->path().string(), .value = {}, .fix = {}});
  takes_shared_prefix_ = takes_extra(*plugin_, kSharedPrefix);
  auto error = plugin::make_struct<verlc_error>();
  finish("create", api_->create(api_->self, plugin::to_abi(config), &topology, &train_, &error), error);
}

TrainEngine::~TrainEngine() {
  if (train_ != nullptr) api_->destroy(train_);
}

Outcome TrainEngine::finish(std::string_view call, verlc_status status, const verlc_error& error) const {
  return check_call(plugin_->id(), call, status, error);
}

Outcome TrainEngine::whole(std::string_view call, verlc_status status, const verlc_error& error) const {
  const Outcome outcome = finish(call, status, error);
  if (outcome != Outcome::done)
    fail_run({.what = "the engine left a batch unfinished",
              .where = fmt::format("{}: {}", plugin_->id(), call),
              .value = fmt::format("status {}", static_cast<int>(status)),
              .fix = "resume from the last checkpoint; the engine must finish what has a cancel scope other "
                     "than 0"});
  return outcome;
}

std::string TrainEngine::estimate(const Plugin& plugin, const std::string& config,
                                  const std::string& workload) {
  return call_estimate(plugin, *plugin.capability<verlc_train_api>(VERLC_CAPABILITY_TRAIN), config, workload);
}

Outcome TrainEngine::forward_logp(const PackedBatch& batch, std::span<float> logp, std::span<float> entropy,
                                  std::span<float> value) {
  check(logp.size() == batch.tokens.size(), "forward_logp gives one log-prob per token");
  const AbiBatch packed(batch, takes_shared_prefix_);
  auto error = plugin::make_struct<verlc_error>();
  const verlc_status status = api_->forward_logp(train_, packed.get(), logp.data(), data_or_null(entropy),
                                                 data_or_null(value), &error);
  return whole("forward_logp", status, error);
}

Outcome TrainEngine::forward_backward(const PackedBatch& batch, bool need_entropy, const LossFunction& loss,
                                      double* loss_sum) {
  const AbiBatch packed(batch, takes_shared_prefix_);
  LossCall call{loss, nullptr};
  double sum = 0;
  auto error = plugin::make_struct<verlc_error>();
  const verlc_status status =
      api_->forward_backward(train_, packed.get(), need_entropy ? 1 : 0, LossCall::run, &call, &sum, &error);
  if (call.thrown) std::rethrow_exception(call.thrown);
  if (loss_sum != nullptr) *loss_sum = sum;
  return whole("forward_backward", status, error);
}

OptimizerResult TrainEngine::optimizer_step(double lr, double clip_grad) {
  auto step = plugin::make_struct<verlc_optimizer_step>();
  step.lr = lr;
  step.clip_grad = clip_grad;
  auto error = plugin::make_struct<verlc_error>();
  finish("optimizer_step", api_->optimizer_step(train_, &step, &error), error);
  return {.grad_norm = step.out_grad_norm, .skipped = step.out_skipped != 0};
}

void TrainEngine::zero_grad() {
  auto error = plugin::make_struct<verlc_error>();
  finish("zero_grad", api_->zero_grad(train_, &error), error);
}

void TrainEngine::offload(uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("offload", api_->offload(train_, parts, &error), error);
}

void TrainEngine::onload(uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("onload", api_->onload(train_, parts, &error), error);
}

void TrainEngine::export_weights(uint64_t bucket_bytes, const WeightSink& sink) {
  auto error = plugin::make_struct<verlc_error>();
  finish("export_begin", api_->export_begin(train_, bucket_bytes, &error), error);
  std::vector<const verlc_named_tensor*> bucket(kBucketCapacity);
  for (;;) {
    uint32_t count = 0;
    const verlc_status status = api_->export_next(train_, bucket.data(), kBucketCapacity, &count, &error);
    std::vector<plugin::ManagedTensor> held;  // released at the end of the round, also when the sink throws
    for (uint32_t i = 0; i < count && status >= 0; ++i) held.emplace_back(bucket[i]->tensor);
    if (finish("export_next", status, error) == Outcome::end && count == 0) return;
    sink({bucket.data(), count});
    if (status == VERLC_END) return;
  }
}

void TrainEngine::save(const std::filesystem::path& folder, uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("save", api_->save(train_, plugin::to_abi(folder.native()), parts, &error), error);
}

void TrainEngine::load(const std::filesystem::path& folder, uint32_t parts) {
  auto error = plugin::make_struct<verlc_error>();
  finish("load", api_->load(train_, plugin::to_abi(folder.native()), parts, &error), error);
}

std::vector<verlc_memory_stat> TrainEngine::memory_stats() {
  return call_memory_stats(*plugin_, *api_, train_);
}

}  // namespace verlc
