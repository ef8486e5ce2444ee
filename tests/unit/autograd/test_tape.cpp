#include <catch2/catch.hpp>

#include <cstring>

#include "core/autograd/tape.hpp"
#include "core/memory/heap_allocator.hpp"
#include "core/ops/add.hpp"
#include "core/ops/linear.hpp"
#include "core/ops/rms_norm.hpp"

using namespace verlc;

namespace {

Tensor filled(const Context& context, Shape shape, uint64_t stream) {
  const SampleInput input = normal_input(shape, stream);
  Tensor tensor = context.empty(shape);
  for (size_t i = 0; i < input.values.size(); ++i) tensor.f32()[i] = static_cast<float>(input.values[i]);
  return tensor;
}

struct Net {
  Var weight, norm;
  // x + w(norm(x)), a small residual block.
  Var operator()(Tape& tape, const Var& x) const {
    const Var h = tape.run(std::make_unique<ops::RmsNorm>(1e-5f), {x, norm});
    return tape.run(std::make_unique<ops::Add>(),
                    {x, tape.run(std::make_unique<ops::Linear>(), {h, weight})});
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.size() == b.size() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

TEST_CASE("recomputation gives the same bits as keeping") {
  HeapAllocator memory;
  InlineExecutor threads;
  const Context context{memory, threads};
  {
    std::vector<Tensor> grads[2];
    for (const bool again : {false, true}) {
      const Net net{Var::leaf(filled(context, {6, 6}, 1)), Var::leaf(filled(context, {6}, 2))};
      const Var x = Var::leaf(filled(context, {4, 6}, 3));
      Tape tape(context, true);
      Var y = again ? tape.recompute(x, net) : net(tape, x);
      y = again ? tape.recompute(y, net) : net(tape, y);
      const Tensor dy = filled(context, {4, 6}, 4);
      tape.backward({&y, 1}, {&dy, 1});
      grads[again ? 1 : 0] = {x.grad(), net.weight.grad(), net.norm.grad()};
    }
    for (size_t i = 0; i < 3; ++i) REQUIRE(same_bits(grads[0][i], grads[1][i]));
  }
  REQUIRE(memory.live() == 0);
}

TEST_CASE("a value used twice gets the sum, and hooks run where they stand") {
  HeapAllocator memory;
  InlineExecutor threads;
  const Context context{memory, threads};
  const Var x = Var::leaf(filled(context, {3}, 5));
  Tape tape(context, true);
  bool early = false, grad_there = false;
  tape.on_backward([&] { grad_there = x.grad().defined(); });
  const Var y = tape.run(std::make_unique<ops::Add>(), {x, x});
  tape.on_backward([&] { early = !x.grad().defined(); });
  const Tensor dy = filled(context, {3}, 6);
  tape.backward({&y, 1}, {&dy, 1});
  REQUIRE(early);
  REQUIRE(grad_there);
  for (int i = 0; i < 3; ++i) REQUIRE(x.grad().f32()[i] == 2 * dy.f32()[i]);
}

TEST_CASE("nothing is kept when not recording") {
  HeapAllocator memory;
  InlineExecutor threads;
  const Context context{memory, threads};
  const Net net{Var::leaf(filled(context, {6, 6}, 1)), Var::leaf(filled(context, {6}, 2))};
  const int64_t before = memory.live();
  Tape tape(context, false);
  {
    const Var y = net(tape, Var::constant(filled(context, {4, 6}, 3)));
    REQUIRE_FALSE(y.requires_grad());
  }
  REQUIRE(memory.live() == before);
}
