#include "rollout/runner.hpp"

#include <cstring>

#include "core/kernels/cpu/gemm.hpp"
#include "rollout/paged_attention.hpp"

namespace verlc::rollout {

Runner::Runner(const Context& context, Model& model, const Weights& weights, const KvCache& cache)
    : context_(context),
      model_(model),
      weights_(weights),
      cache_(cache),
      rotary_(context.memory, model.config().rope, model.config().head_dim) {}

Tensor Runner::run(const StepPlan& plan) {
  const Scope scope(context_.memory, "rollout.step");
  cache_.copy(plan.copies);
  ids_.clear();
  positions_.clear();
  cu_seqlens_.assign(1, 0);
  for (const StepItem& item : plan.items) {
    for (int64_t p = item.first_position; p < item.first_position + item.num_tokens; ++p) {
      ids_.push_back(item.sequence->tokens[static_cast<size_t>(p)]);
      positions_.push_back(static_cast<int32_t>(p));
    }
    cu_seqlens_.push_back(static_cast<int32_t>(ids_.size()));
  }
  const RotaryRows angles = rotary_.rows(positions_, cu_seqlens_);
  PagedAttention attention(cache_, plan.items);
  Tape tape(context_, false);
  const ForwardContext pass{tape, attention, angles.view()};
  Var x = Var::constant(weights_.embed(ids_));
  for (int64_t layer = 0; layer < model_.config().num_layers; ++layer) x = model_.layer(pass, layer, x);
  const Tensor last = last_rows(plan, x.value());
  if (last.dim(0) == 0) return {};
  return head_logits(model_.final_norm(pass, Var::constant(last)).value());
}

Tensor Runner::last_rows(const StepPlan& plan, const Tensor& x) const {
  int64_t count = 0;
  for (const StepItem& item : plan.items) count += item.sample ? 1 : 0;
  const int64_t hidden = model_.config().hidden;
  Tensor rows = context_.empty({count, hidden});
  int64_t row = 0;
  float* to = count > 0 ? rows.f32() : nullptr;
  for (const StepItem& item : plan.items) {
    row += item.num_tokens;
    if (!item.sample) continue;
    std::memcpy(to, x.f32() + (row - 1) * hidden, static_cast<size_t>(hidden) * sizeof(float));
    to += hidden;
  }
  return rows;
}

Tensor Runner::head_logits(const Tensor& h) const {
  const Parameter& head = model_.head();
  const int64_t vocab = model_.config().vocab;
  const int64_t hidden = model_.config().hidden;
  Tensor logits = context_.empty({h.dim(0), vocab}, Category::logits);
  const Tensor scratch = context_.scratch(static_cast<size_t>(
      kernels::gemm_packed_scratch_floats(head.packed.forward.precision, h.dim(0), hidden)));
  kernels::gemm_packed(context_.threads, h.f32(), head.packed.forward, nullptr, logits.f32(), h.dim(0), vocab,
                       hidden, false, scratch.f32());
  return logits;
}

}  // namespace verlc::rollout
