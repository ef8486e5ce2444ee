#include "core/ops/attention.hpp"

#include <algorithm>
#include <cmath>

namespace verlc {
namespace ops {

std::vector<Tensor> Attention::forward(const Context& context, std::span<const Tensor> in) {
  const Tensor &q = in[0], &k = in[1], &v = in[2];
  const int64_t q_width = shape_.num_heads * shape_.head_dim,
                kv_width = shape_.num_kv_heads * shape_.head_dim;
  Tensor out = context.empty(q.shape());
  lse_ = context.empty({q.dim(0), shape_.num_heads});
  const size_t num_sequences = cu_seqlens_->size() - 1;
  // One page per sequence, as long as the sequence: the layout that generation uses, so that both run one
  // kernel.
  int64_t page_floats = 0;
  std::vector<int64_t> begin(num_sequences);
  const auto page_size = [&](size_t s) {
    const int64_t length = (*cu_seqlens_)[s + 1] - (*cu_seqlens_)[s];
    return std::max<int64_t>(1, (length + kernels::kKeyGroup - 1) / kernels::kKeyGroup) * kernels::kKeyGroup;
  };
  for (size_t s = 0; s < num_sequences; ++s) {
    begin[s] = page_floats;
    page_floats += kernels::kv_page_floats(shape_, page_size(s));
  }
  const Tensor k_pages = context.scratch(static_cast<size_t>(page_floats));
  const Tensor v_pages = context.scratch(static_cast<size_t>(page_floats));
  std::vector<float*> k_page(num_sequences), v_page(num_sequences);
  std::vector<kernels::AttentionSequence> sequences(num_sequences);
  for (size_t s = 0; s < num_sequences; ++s) {
    const int64_t first = (*cu_seqlens_)[s], length = (*cu_seqlens_)[s + 1] - first;
    k_page[s] = k_pages.f32() + begin[s];
    v_page[s] = v_pages.f32() + begin[s];
    sequences[s] = {q.f32() + first * q_width,
                    out.f32() + first * q_width,
                    lse_.f32() + first * shape_.num_heads,
                    length,
                    0,
                    {&k_page[s], &v_page[s], page_size(s)}};
  }
  context.threads.for_each(static_cast<int>(num_sequences), [&](int i) {
    const auto s = static_cast<size_t>(i);
    const int64_t first = (*cu_seqlens_)[s];
    kernels::write_kv(shape_, k.f32() + first * kv_width, v.f32() + first * kv_width,
                      sequences[s].num_queries, 0, &k_page[s], &v_page[s], page_size(s));
  });
  if (q.size() > 0) kernels::attention_forward(context.threads, shape_, sequences);
  return {out};
}

void Attention::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor> out,
                         std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  if (in[0].size() == 0) {
    for (size_t i = 0; i < 3; ++i) d_in[i].give(context, context.empty(in[i].shape()));
    return;
  }
  int64_t longest = 0;
  for (size_t s = 0; s + 1 < cu_seqlens_->size(); ++s)
    longest = std::max<int64_t>(longest, (*cu_seqlens_)[s + 1] - (*cu_seqlens_)[s]);
  const Tensor scratch =
      context.scratch(kernels::attention_backward_scratch_floats(context.threads.threads(), shape_, longest));
  Tensor dq = context.empty(in[0].shape()), dk = context.empty(in[1].shape()),
         dv = context.empty(in[2].shape());
  kernels::attention_backward(context.threads, shape_, in[0].f32(), in[1].f32(), in[2].f32(), out[0].f32(),
                              d_out[0].f32(), lse_.f32(), *cu_seqlens_, dq.f32(), dk.f32(), dv.f32(),
                              scratch.f32());
  d_in[0].give(context, std::move(dq));
  d_in[1].give(context, std::move(dk));
  d_in[2].give(context, std::move(dv));
}

}  // namespace ops

namespace {

struct AttentionCase {
  kernels::AttentionShape shape;
  std::vector<int32_t> cu_seqlens;
};

// Plain softmax attention, one query at a time.
void attend_one(const AttentionCase& c, const OpSample::Values& in, size_t first, size_t query, size_t head,
                std::vector<double>& y) {
  const auto d = static_cast<size_t>(c.shape.head_dim), heads = static_cast<size_t>(c.shape.num_heads);
  const auto kv_heads = static_cast<size_t>(c.shape.num_kv_heads), kv = head / (heads / kv_heads);
  const size_t begin = c.shape.window > 0 && query + 1 > static_cast<size_t>(c.shape.window)
                           ? query + 1 - static_cast<size_t>(c.shape.window)
                           : 0;
  std::vector<double> weight;
  double sum = 0;
  for (size_t j = begin; j <= query; ++j) {
    double score = 0;
    for (size_t i = 0; i < d; ++i)
      score += in[0][((first + query) * heads + head) * d + i] * in[1][((first + j) * kv_heads + kv) * d + i];
    weight.push_back(std::exp(score * c.shape.scale));
    sum += weight.back();
  }
  for (size_t j = begin; j <= query; ++j)
    for (size_t i = 0; i < d; ++i)
      y[((first + query) * heads + head) * d + i] +=
          weight[j - begin] / sum * in[2][((first + j) * kv_heads + kv) * d + i];
}

OpSample::Values attention_reference(const AttentionCase& c, const OpSample::Values& in) {
  std::vector<double> y(in[0].size(), 0.0);
  for (size_t s = 0; s + 1 < c.cu_seqlens.size(); ++s) {
    const auto first = static_cast<size_t>(c.cu_seqlens[s]), end = static_cast<size_t>(c.cu_seqlens[s + 1]);
    for (size_t query = 0; first + query < end; ++query)
      for (size_t head = 0; head < static_cast<size_t>(c.shape.num_heads); ++head)
        attend_one(c, in, first, query, head, y);
  }
  return {y};
}

void add_attention_sample(OpRegistry& registry, const std::string& name, const AttentionCase& c,
                          uint64_t stream) {
  const int64_t tokens = c.cu_seqlens.back();
  const int64_t q_width = c.shape.num_heads * c.shape.head_dim,
                kv_width = c.shape.num_kv_heads * c.shape.head_dim;
  registry.samples.push_back(
      {name,
       {normal_input({tokens, q_width}, stream), normal_input({tokens, kv_width}, stream + 1),
        normal_input({tokens, kv_width}, stream + 2)},
       [c] {
         return std::make_unique<ops::Attention>(c.shape,
                                                 std::make_shared<std::vector<int32_t>>(c.cu_seqlens));
       },
       [c](const OpSample::Values& in) { return attention_reference(c, in); }});
}

}  // namespace

void op_attention(OpRegistry& registry) {
  add_attention_sample(registry, "attention 2 sequences, 4 heads on 2", {{4, 2, 8, 0, 0.35f}, {0, 5, 14}},
                       71);
  add_attention_sample(registry, "attention over several key blocks with a window",
                       {{2, 1, 6, 40, 0.4f}, {0, 70, 71}}, 81);
}

}  // namespace verlc
