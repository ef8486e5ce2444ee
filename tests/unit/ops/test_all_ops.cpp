// Every op against its float64 reference, and its backward against central differences of that reference.
#include <catch2/catch.hpp>

#include <cmath>
#include <cstdint>

#include "core/base/thread_pool.hpp"
#include "core/memory/heap_allocator.hpp"
#include "core/ops/op.hpp"

using namespace verlc;

namespace {

struct Call {
  std::vector<Tensor> in, out;
  std::unique_ptr<Op> op;
};

Call forward(const Context& context, const OpSample& sample) {
  Call call;
  for (const SampleInput& input : sample.in) {
    Tensor tensor = context.empty(input.shape);
    for (size_t i = 0; i < input.values.size(); ++i) tensor.f32()[i] = static_cast<float>(input.values[i]);
    call.in.push_back(tensor);
  }
  call.op = sample.make();
  call.out = call.op->forward(context, call.in);
  return call;
}

OpSample::Values values_of(const OpSample& sample) {
  OpSample::Values values;
  for (const SampleInput& input : sample.in) values.push_back(input.values);
  return values;
}

// One random direction per output, so that one scalar loss exercises every output element.
OpSample::Values directions(const OpSample::Values& out) {
  OpSample::Values weights;
  for (size_t i = 0; i < out.size(); ++i)
    weights.push_back(normal_input({static_cast<int64_t>(out[i].size())}, 1000 + i).values);
  return weights;
}

double loss(const OpSample& sample, const OpSample::Values& in, const OpSample::Values& weights) {
  const OpSample::Values out = sample.reference(in);
  double sum = 0;
  for (size_t o = 0; o < out.size(); ++o)
    for (size_t i = 0; i < out[o].size(); ++i) sum += out[o][i] * weights[o][i];
  return sum;
}

double numeric_gradient(const OpSample& sample, OpSample::Values in, size_t which, size_t i,
                        const OpSample::Values& weights) {
  const double step = 1e-5, center = in[which][i];
  in[which][i] = center + step;
  const double above = loss(sample, in, weights);
  in[which][i] = center - step;
  return (above - loss(sample, in, weights)) / (2 * step);
}

void check_close(const std::string& what, size_t i, double got, double want) {
  INFO(what << " element " << i << ": got " << got << ", want " << want);
  REQUIRE(std::abs(got - want) <= 2e-5 + 2e-5 * std::abs(want));
}

void check_gradients(const Context& context, const OpSample& sample, Call& call) {
  const OpSample::Values in = values_of(sample), weights = directions(sample.reference(in));
  std::vector<Tensor> d_out, d_in(call.in.size());
  for (const std::vector<double>& weight : weights) {
    Tensor tensor = context.empty({static_cast<int64_t>(weight.size())});
    for (size_t i = 0; i < weight.size(); ++i) tensor.f32()[i] = static_cast<float>(weight[i]);
    d_out.push_back(tensor);
  }
  std::vector<GradSlot> slots;
  for (size_t w = 0; w < call.in.size(); ++w)
    slots.emplace_back(sample.in[w].differentiable ? &d_in[w] : nullptr);
  call.op->backward(context, call.in, call.out, d_out, slots);
  for (size_t w = 0; w < call.in.size(); ++w) {
    if (!sample.in[w].differentiable) continue;
    const size_t count = in[w].size(), stride = std::max<size_t>(1, count / 400);
    for (size_t i = 0; i < count; i += stride)
      check_close(sample.name + ", gradient of input " + std::to_string(w), i, d_in[w].f32()[i],
                  numeric_gradient(sample, in, w, i, weights));
  }
}

}  // namespace

TEST_CASE("every op: forward and gradient") {
  const auto threads = static_cast<int>(GENERATE(1, 3));
  HeapAllocator memory;
  ThreadPool pool(threads);
  const Context context{memory, pool};
  const std::vector<OpSample> samples = all_op_samples();
  REQUIRE(samples.size() >= 10);
  for (const OpSample& sample : samples) {
    DYNAMIC_SECTION(sample.name << " with " << threads << " threads") {
      Call call = forward(context, sample);
      const OpSample::Values want = sample.reference(values_of(sample));
      for (size_t o = 0; o < want.size(); ++o) {
        REQUIRE(call.out[o].size() == static_cast<int64_t>(want[o].size()));
        for (size_t i = 0; i < want[o].size(); ++i)
          check_close(sample.name + ", output " + std::to_string(o), i, call.out[o].f32()[i], want[o][i]);
      }
      check_gradients(context, sample, call);
    }
  }
  REQUIRE(memory.live() == 0);
}
