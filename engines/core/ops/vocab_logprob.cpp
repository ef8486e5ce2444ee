#include "core/ops/vocab_logprob.hpp"

#include <cmath>

#include "core/kernels/cpu/vocab.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> VocabLogprob::forward(const Context& context, std::span<const Tensor> in) {
  const int64_t rows = in[0].dim(0), hidden = in[0].dim(1), vocab = in[1].dim(0);
  check(rows == static_cast<int64_t>(targets_.size()) && targets_.size() == inv_temperature_.size(),
        "vocab_logprob: one target and one temperature per row");
  const PackedWeight packed = panels_of(packed_);
  Tensor logp = context.empty({rows}), entropy;
  lse_ = context.empty({rows});
  if (with_entropy_) entropy = context.empty({rows});
  if (rows > 0) {
    const Tensor scratch =
        Tensor::empty(context.memory,
                      {static_cast<int64_t>(kernels::vocab_scratch_floats(context.threads.threads(), rows,
                                                                          hidden, packed.forward.precision))},
                      DType::f32, Category::logits);
    kernels::vocab_logprob_forward(context.threads, in[0].f32(),
                                   {in[1].f32(), packed.forward, packed.backward}, targets_.data(),
                                   inv_temperature_.data(), rows, hidden, vocab, logp.f32(),
                                   with_entropy_ ? entropy.f32() : nullptr, lse_.f32(), scratch.f32());
  }
  return {logp, entropy};
}

void VocabLogprob::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                            std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  const int64_t rows = in[0].dim(0), hidden = in[0].dim(1), vocab = in[1].dim(0);
  if (rows == 0) return d_in[0].give(context, context.empty(in[0].shape()));
  const Tensor d_logp = d_out[0].defined() ? d_out[0] : context.zeros({rows}, Category::work);
  const PackedWeight packed = panels_of(packed_);
  const bool use_entropy = d_out.size() > 1 && d_out[1].defined();
  const Tensor scratch =
      Tensor::empty(context.memory,
                    {static_cast<int64_t>(kernels::vocab_scratch_floats(context.threads.threads(), rows,
                                                                        hidden, packed.forward.precision))},
                    DType::f32, Category::logits);
  Tensor dh = context.empty(in[0].shape());
  float* d_head = d_in[1].wanted() ? d_in[1].sum(context, in[1].shape()).f32() : nullptr;
  kernels::vocab_logprob_backward(
      context.threads, in[0].f32(), {in[1].f32(), packed.forward, packed.backward}, targets_.data(),
      inv_temperature_.data(), use_entropy ? out[1].f32() : nullptr, lse_.f32(), d_logp.f32(),
      use_entropy ? d_out[1].f32() : nullptr, rows, hidden, vocab, dh.f32(), d_head, scratch.f32());
  d_in[0].give(context, std::move(dh));
}

}  // namespace ops

namespace {

OpSample::Values vocab_reference(const OpSample::Values& in, const std::vector<int32_t>& targets,
                                 const std::vector<float>& inv_temperature, size_t hidden) {
  const size_t rows = targets.size(), vocab = in[1].size() / hidden;
  std::vector<double> logp(rows), entropy(rows);
  for (size_t r = 0; r < rows; ++r) {
    std::vector<double> z(vocab, 0.0);
    double sum = 0, mean = 0;
    for (size_t j = 0; j < vocab; ++j) {
      for (size_t i = 0; i < hidden; ++i) z[j] += in[0][r * hidden + i] * in[1][j * hidden + i];
      z[j] *= inv_temperature[r];
      sum += std::exp(z[j]);
    }
    for (size_t j = 0; j < vocab; ++j) mean += std::exp(z[j]) / sum * z[j];
    logp[r] = z[static_cast<size_t>(targets[r])] - std::log(sum);
    entropy[r] = std::log(sum) - mean;
  }
  return {logp, entropy};
}

}  // namespace

void op_vocab_logprob(OpRegistry& registry) {
  const auto add = [&](const std::string& name, int64_t rows, int64_t hidden, int64_t vocab,
                       uint64_t stream) {
    std::vector<int32_t> targets;
    std::vector<float> inv_temperature;
    for (int64_t r = 0; r < rows; ++r) {
      targets.push_back(static_cast<int32_t>((r * 37 + 5) % vocab));
      inv_temperature.push_back(r % 2 == 0 ? 1.0f : 1.0f / 0.7f);
    }
    registry.samples.push_back(
        {name,
         {normal_input({rows, hidden}, stream), normal_input({vocab, hidden}, stream + 1, 0.4)},
         [=] { return std::make_unique<ops::VocabLogprob>(targets, inv_temperature, true); },
         [=](const OpSample::Values& in) {
           return vocab_reference(in, targets, inv_temperature, static_cast<size_t>(hidden));
         }});
  };
  add("vocab_logprob 5x12 of 50", 5, 12, 50, 91);
  add("vocab_logprob over several chunks", 3, 8, 2500, 95);
}

}  // namespace verlc
