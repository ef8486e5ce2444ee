#include "core/ops/embedding.hpp"

#include "core/kernels/cpu/elementwise.hpp"

namespace verlc {
namespace ops {

std::vector<Tensor> Embedding::forward(const Context& context, std::span<const Tensor> in) {
  const Tensor& table = in[0];
  Tensor y = context.empty({ids_.size(), table.dim(1)});
  kernels::embedding_forward(context.threads, table.f32(), ids_.i32(), ids_.size(), table.dim(1), y.f32());
  if (kernels::is_narrow(precision_))
    kernels::round_to_bf16(context.threads, y.f32(), static_cast<size_t>(y.size()));
  return {y};
}

void Embedding::backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor>,
                         std::span<const Tensor> d_out, std::span<const GradSlot> d_in) {
  if (!d_in[0].wanted() || ids_.size() == 0) return;
  kernels::embedding_backward(context.threads, ids_.i32(), d_out[0].f32(), ids_.size(), in[0].dim(1),
                              d_in[0].sum(context, in[0].shape()).f32());
}

}  // namespace ops

namespace {

const int32_t kIds[] = {3, 0, 3, 5, 1};

std::unique_ptr<Op> make_embedding() {
  return std::make_unique<ops::Embedding>(Tensor::borrow(const_cast<int32_t*>(kIds), {5}, DType::i32));
}

}  // namespace

void op_embedding(OpRegistry& registry) {
  registry.samples.push_back({"embedding 6x10, a repeated id",
                              {normal_input({6, 10}, 41)},
                              make_embedding,
                              [](const OpSample::Values& in) {
                                std::vector<double> y;
                                for (const int32_t id : kIds)
                                  y.insert(y.end(), in[0].begin() + id * 10, in[0].begin() + (id + 1) * 10);
                                return OpSample::Values{y};
                              }});
}

}  // namespace verlc
