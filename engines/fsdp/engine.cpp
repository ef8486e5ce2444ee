#include "fsdp/engine.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/error.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/nn/packed_attention.hpp"
#include "fsdp/compact_tokens.hpp"

namespace verlc::fsdp {

// One micro-batch's forward, kept for its backward.
struct Engine::Pass {
  CompactTokens compact;
  PackedAttention attention;
  RotaryRows rotary;
  Tape tape;
  std::vector<Var> out;  // log-prob and entropy of the rows

  Pass(Engine& engine, CompactTokens of_part, bool record, bool entropy)
      : compact(std::move(of_part)),
        attention(std::make_shared<PackedSegments>(compact.segments)),
        rotary(engine.rotary_.rows(compact.positions, compact.segments.cu_seqlens)),
        tape(engine.services_.context(), record) {
    const Tensor ids =
        Tensor::borrow(compact.tokens.data(), {static_cast<int64_t>(compact.tokens.size())}, DType::i32);
    const ForwardContext context{tape, attention, rotary.view()};
    engine.units_.acquire(tape, 0);
    const Var hidden =
        forward_hidden(engine.model_, context, ids, engine.units_, engine.config_.gradient_checkpointing);
    out = forward_logprob(engine.model_, context, hidden, compact.rows, entropy);
    engine.units_.release(tape, 0, record);
  }

  // Writes an output to the tokens of the micro-batch that its rows belong to.
  void scatter(size_t output, float* to) const {
    const float* from = out[output].value().f32();
    for (size_t r = 0; r < compact.rows.tokens.size(); ++r) to[compact.rows.tokens[r]] = from[r];
  }
  // The values of those tokens, row by row.
  [[nodiscard]] Tensor gather(const Context& context, const std::vector<float>& from) const {
    Tensor rows = context.empty({static_cast<int64_t>(compact.rows.tokens.size())});
    for (size_t r = 0; r < compact.rows.tokens.size(); ++r)
      rows.f32()[r] = from[static_cast<size_t>(compact.rows.tokens[r])];
    return rows;
  }
};

Engine::Engine(const Config& config, const plugin::Host& host, const verlc_topology& topology)
    : config_(config),
      services_(host),
      dp_(host.group(topology.dp)),
      model_(read_model_config(config.model)),
      rotary_(services_.memory(), model_.config().rope, model_.config().head_dim),
      units_(config, model_, services_, make_groups(config, host, topology.dp)) {
  load_initial_weights(config_, model_, units_, services_);
}

Batch Engine::usable(Batch batch) {
  if (batch.shared_prefix.empty() || model_.config().rope.type != "dynamic") return batch;
  // The angles of a token depend on the length of its sequence, so that samples have no prefix in common.
  if (!told_unshared_)
    services_.host().log(1, "fsdp", "prompts are not shared: this model's rotary embedding is dynamic");
  told_unshared_ = true;
  batch.shared_prefix = {};
  return batch;
}

void Engine::forward_logp(const Batch& given, float* logp, float* entropy) {
  const Batch batch = usable(given);
  std::fill_n(logp, batch.tokens.size(), 0.0f);
  if (entropy != nullptr) std::fill_n(entropy, batch.tokens.size(), 0.0f);
  const std::vector<Extent> extents = extents_of(batch);
  for (const MicroBatch& part : cut_equally(batch, extents)) {
    services_.host().stop_if_cancelled(batch.cancel_scope);
    const Pass pass(*this, compact(batch, extents, part), false, entropy != nullptr);
    pass.scatter(0, logp + part.token_begin);
    if (entropy != nullptr) pass.scatter(1, entropy + part.token_begin);
  }
}

std::vector<MicroBatch> Engine::cut_equally(const Batch& batch, std::span<const Extent> extents) {
  std::vector<MicroBatch> parts = cut(batch.cu_seqlens, extents, batch.max_sequences, batch.max_tokens);
  equalize(parts, dp_);
  return parts;
}

void Engine::call_loss(Pass& pass, const MicroBatch& part, size_t index, verlc_loss_callback loss,
                       void* loss_context, double* loss_sum) {
  const size_t count = part.token_end - part.token_begin;
  const bool with_entropy = pass.out[1].value().defined();
  // Never NULL, also without tokens: NULL says that something was not asked for.
  const size_t room = std::max<size_t>(count, 1);
  std::vector<float> logp(room, 0.0f), d_logp(room, 0.0f), entropy, d_entropy;
  if (with_entropy) {
    entropy.assign(room, 0.0f);
    d_entropy.assign(room, 0.0f);
  }
  pass.scatter(0, logp.data());
  if (with_entropy) pass.scatter(1, entropy.data());
  auto micro = plugin::make_struct<verlc_micro_batch>();
  micro.index = index;
  micro.sequence_begin = part.sequence_begin;
  micro.sequence_count = part.sequence_end - part.sequence_begin;
  micro.token_begin = part.token_begin;
  micro.token_count = count;
  micro.logp = logp.data();
  micro.d_logp = d_logp.data();
  micro.entropy = with_entropy ? entropy.data() : nullptr;
  micro.d_entropy = with_entropy ? d_entropy.data() : nullptr;
  auto error = plugin::make_struct<verlc_error>();
  plugin::throw_if_failed(loss(loss_context, &micro, &error), error);
  *loss_sum += micro.loss;
  const Context context = services_.context();
  std::vector<Tensor> seeds = {pass.gather(context, d_logp), Tensor()};
  // An entropy that was only looked at costs nothing in the backward.
  const bool use_entropy = std::any_of(d_entropy.begin(), d_entropy.end(), [](float d) { return d != 0.0f; });
  if (use_entropy) seeds[1] = pass.gather(context, d_entropy);
  pass.tape.backward(pass.out, seeds);
}

double Engine::forward_backward(const Batch& given, bool need_entropy, verlc_loss_callback loss,
                                void* loss_context) {
  if (!config_.trainable)
    throw plugin::Failure(VERLC_E_STATE, "this model was created with trainable = false");
  const Batch batch = usable(given);
  const std::vector<Extent> extents = extents_of(batch);
  double loss_sum = 0;
  size_t index = 0;
  for (const MicroBatch& part : cut_equally(batch, extents)) {
    services_.host().stop_if_cancelled(batch.cancel_scope);
    Pass pass(*this, compact(batch, extents, part), true, need_entropy);
    call_loss(pass, part, index++, loss, loss_context, &loss_sum);
  }
  units_.finish_backward();
  return loss_sum;
}

void Engine::optimizer_step(verlc_optimizer_step& step) {
  if (!config_.trainable)
    throw plugin::Failure(VERLC_E_STATE, "this model was created with trainable = false");
  units_.reduce_over_replicas();
  double square = 0;
  for (size_t u = 0; u < units_.size(); ++u)
    square += kernels::sum_of_squares(services_.threads(), units_.grad(u).f32(),
                                      static_cast<size_t>(units_.grad(u).size()));
  units_.shard_group().all_reduce(std::span<const double>(&square, 1), std::span<double>(&square, 1));
  step.out_grad_norm = std::sqrt(square);
  step.out_skipped = std::isfinite(step.out_grad_norm) ? 0 : 1;
  if (step.out_skipped == 0) {
    kernels::AdamWStep options{
        step.lr, config_.beta1, config_.beta2, config_.eps, config_.weight_decay, ++optimizer_.step, 1.0f};
    // torch's clip_grad_norm_: the small constant is part of its arithmetic.
    if (step.clip_grad > 0)
      options.grad_scale = static_cast<float>(std::min(1.0, step.clip_grad / (step.out_grad_norm + 1e-6)));
    for (size_t u = 0; u < units_.size(); ++u)
      kernels::adamw(services_.threads(), options, units_.param(u).f32(), units_.grad(u).f32(),
                     units_.first_moment(u).f32(), units_.second_moment(u).f32(),
                     static_cast<size_t>(units_.param(u).size()));
    units_.weights_changed();
  }
  units_.zero_grad();
}

std::vector<const verlc_named_tensor*> Engine::export_next(uint32_t capacity) {
  if (!export_) throw plugin::Failure(VERLC_E_STATE, "export_next without export_begin");
  std::vector<const verlc_named_tensor*> bucket = export_->next(capacity);
  if (bucket.empty()) export_.reset();
  return bucket;
}

}  // namespace verlc::fsdp
