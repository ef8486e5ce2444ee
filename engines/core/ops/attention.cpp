#include "core/ops/attention.hpp"

#include <cmath>

#include "core/kernels/cpu/attention_pages.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> Attention::forward(const Context& context, std::span<const Tensor> in) {
  const Tensor& q = in[0];
  Tensor out = context.empty(q.shape());
  lse_ = context.empty({q.dim(0), shape_.num_heads});
  // Pages are the layout that generation uses, so that both run one kernel.
  kernels::PackedPages pages(shape_, segments_->layout());
  const Tensor keys = context.scratch(pages.floats());
  const Tensor values = context.scratch(pages.floats());
  if (q.size() == 0) return {out};
  pages.fill(context.threads, in[1].f32(), in[2].f32(), keys.f32(), values.f32());
  kernels::attention_forward(context.threads, shape_, pages.sequences(q.f32(), out.f32(), lse_.f32()));
  return {out};
}

void Attention::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                         std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  if (in[0].size() == 0) {
    for (size_t i = 0; i < 3; ++i) d_in[i].give(context, context.empty(in[i].shape()));
    return;
  }
  const kernels::PackedLayout layout = segments_->layout();
  const Tensor scratch = context.scratch(kernels::attention_backward_scratch_floats(shape_, layout));
  Tensor dq = context.empty(in[0].shape()), dk = context.empty(in[1].shape()),
         dv = context.empty(in[2].shape());
  kernels::attention_backward(context.threads, shape_, in[0].f32(), in[1].f32(), in[2].f32(), out[0].f32(),
                              d_out[0].f32(), lse_.f32(), layout, dq.f32(), dk.f32(), dv.f32(),
                              scratch.f32());
  d_in[0].give(context, std::move(dq));
  d_in[1].give(context, std::move(dk));
  d_in[2].give(context, std::move(dv));
}

}  // namespace ops

namespace {

struct AttentionCase {
  kernels::AttentionShape shape;
  PackedSegments segments;
};

// Tokens of segment s's sequence from its start, the parent's included.
std::vector<size_t> tokens_of(const PackedSegments& segments, size_t s) {
  std::vector<size_t> tokens;
  const auto append = [&](size_t segment) {
    for (int32_t t = segments.cu_seqlens[segment]; t < segments.cu_seqlens[segment + 1]; ++t)
      tokens.push_back(static_cast<size_t>(t));
  };
  if (!segments.parent.empty() && segments.parent[s] >= 0) append(static_cast<size_t>(segments.parent[s]));
  append(s);
  return tokens;
}

// Plain softmax attention, one query at a time: the last of `tokens`.
void attend_one(const AttentionCase& c, const OpSample::Values& in, std::span<const size_t> tokens,
                size_t head, std::vector<double>& y) {
  const auto d = static_cast<size_t>(c.shape.head_dim), heads = static_cast<size_t>(c.shape.num_heads);
  const auto kv_heads = static_cast<size_t>(c.shape.num_kv_heads), kv = head / (heads / kv_heads);
  const auto window = static_cast<size_t>(c.shape.window);
  if (window > 0 && tokens.size() > window) tokens = tokens.last(window);
  const size_t query = (tokens.back() * heads + head) * d;
  std::vector<double> weight;
  double sum = 0;
  for (const size_t j : tokens) {
    double score = 0;
    for (size_t i = 0; i < d; ++i) score += in[0][query + i] * in[1][(j * kv_heads + kv) * d + i];
    weight.push_back(std::exp(score * c.shape.scale));
    sum += weight.back();
  }
  for (size_t j = 0; j < tokens.size(); ++j)
    for (size_t i = 0; i < d; ++i)
      y[query + i] += weight[j] / sum * in[2][(tokens[j] * kv_heads + kv) * d + i];
}

OpSample::Values attention_reference(const AttentionCase& c, const OpSample::Values& in) {
  std::vector<double> y(in[0].size(), 0.0);
  for (size_t s = 0; s + 1 < c.segments.cu_seqlens.size(); ++s) {
    const std::vector<size_t> tokens = tokens_of(c.segments, s);
    const auto own = static_cast<size_t>(c.segments.cu_seqlens[s + 1] - c.segments.cu_seqlens[s]);
    for (size_t count = tokens.size() - own + 1; count <= tokens.size(); ++count)
      for (size_t head = 0; head < static_cast<size_t>(c.shape.num_heads); ++head)
        attend_one(c, in, std::span(tokens).first(count), head, y);
  }
  return {y};
}

void add_attention_sample(OpRegistry& registry, const std::string& name, const AttentionCase& c,
                          uint64_t stream) {
  const int64_t tokens = c.segments.cu_seqlens.back();
  const int64_t q_width = c.shape.num_heads * c.shape.head_dim,
                kv_width = c.shape.num_kv_heads * c.shape.head_dim;
  registry.samples.push_back(
      {name,
       {normal_input({tokens, q_width}, stream), normal_input({tokens, kv_width}, stream + 1),
        normal_input({tokens, kv_width}, stream + 2)},
       [c] {
         return std::make_unique<ops::Attention>(c.shape, std::make_shared<PackedSegments>(c.segments));
       },
       [c](const OpSample::Values& in) { return attention_reference(c, in); }});
}

}  // namespace

void op_attention(OpRegistry& registry) {
  add_attention_sample(registry, "attention 2 sequences, 4 heads on 2",
                       {{4, 2, 8, 0, 0.35f}, {{0, 5, 14}, {}}}, 71);
  add_attention_sample(registry, "attention over several key blocks with a window",
                       {{2, 1, 6, 40, 0.4f}, {{0, 70, 71}, {}}}, 81);
  add_attention_sample(registry, "attention of 3 samples with one prompt, and one alone",
                       {{4, 2, 8, 0, 0.35f}, {{0, 21, 30, 30, 37, 41}, {-1, 0, 0, 0, -1}}}, 91);
  add_attention_sample(registry, "attention of samples with a prompt of more than one page",
                       {{2, 1, 6, 0, 0.4f}, {{0, 3, 142, 150, 155}, {-1, -1, 1, 1}}}, 101);
  add_attention_sample(registry, "attention of samples with a prompt and a window",
                       {{2, 1, 6, 40, 0.4f}, {{0, 139, 187, 190}, {-1, 0, 0}}}, 111);
}

}  // namespace verlc
