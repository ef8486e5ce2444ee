// Segments that share their prompt against the same sequences with a copy of it each.
#include <algorithm>

#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/attention_pages.hpp"
#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

/// Inputs and results of one packed call.
struct Packed {
  std::vector<int32_t> cu_seqlens, parent;
  Floats q, k, v, dout;
  Floats out, lse, dq, dk, dv;
  [[nodiscard]] PackedLayout layout() const { return {cu_seqlens, parent}; }
};

void run(Executor& threads, const AttentionShape& shape, Packed& x) {
  const int64_t tokens = x.cu_seqlens.back();
  const int64_t kv = tokens * shape.num_kv_heads * shape.head_dim;
  x.out = filled(tokens * shape.num_heads * shape.head_dim);
  x.lse = filled(tokens * shape.num_heads);
  PackedPages pages(shape, x.layout());
  Floats k_memory = filled(static_cast<int64_t>(pages.floats()));
  Floats v_memory = filled(static_cast<int64_t>(pages.floats()));
  pages.fill(threads, x.k.data(), x.v.data(), k_memory.data(), v_memory.data());
  attention_forward(threads, shape, pages.sequences(x.q.data(), x.out.data(), x.lse.data()));
  x.dq = filled(static_cast<int64_t>(x.q.size()));
  x.dk = filled(kv);
  x.dv = filled(kv);
  Floats scratch = filled(static_cast<int64_t>(attention_backward_scratch_floats(shape, x.layout())));
  attention_backward(threads, shape, x.q.data(), x.k.data(), x.v.data(), x.out.data(), x.dout.data(),
                     x.lse.data(), x.layout(), x.dq.data(), x.dk.data(), x.dv.data(), scratch.data());
}

Packed shared_case(const AttentionShape& shape, std::vector<int32_t> cu_seqlens,
                   std::vector<int32_t> parent) {
  const int64_t tokens = cu_seqlens.back();
  const int64_t row = shape.num_heads * shape.head_dim;
  const int64_t kv_row = shape.num_kv_heads * shape.head_dim;
  Values values(17 + tokens);
  Packed x;
  x.cu_seqlens = std::move(cu_seqlens);
  x.parent = std::move(parent);
  x.q = values.floats(tokens * row, 2.0F);
  x.k = values.floats(tokens * kv_row, 2.0F);
  x.v = values.floats(tokens * kv_row);
  x.dout = values.floats(tokens * row);
  return x;
}

/// The same sequences, each with its own copy of its parent; `source` is each token's token in the shared
/// form. A copied query has no gradient: the parent's own sequence has it.
struct Unshared {
  Packed packed;
  std::vector<size_t> source;
  std::vector<bool> copied;
};

Unshared unshare(const AttentionShape& shape, const Packed& x) {
  Unshared u;
  u.packed.cu_seqlens = {0};
  const auto add = [&](size_t segment, bool copied) {
    for (int32_t t = x.cu_seqlens[segment]; t < x.cu_seqlens[segment + 1]; ++t) {
      u.source.push_back(static_cast<size_t>(t));
      u.copied.push_back(copied);
    }
  };
  for (size_t s = 0; s + 1 < x.cu_seqlens.size(); ++s) {
    if (x.parent[s] >= 0) add(static_cast<size_t>(x.parent[s]), true);
    add(s, false);
    u.packed.cu_seqlens.push_back(static_cast<int32_t>(u.source.size()));
  }
  const auto take = [&](const Floats& from, int64_t row, Floats& to) {
    for (const size_t t : u.source)
      to.insert(to.end(), from.begin() + static_cast<int64_t>(t) * row,
                from.begin() + static_cast<int64_t>(t + 1) * row);
  };
  const int64_t row = shape.num_heads * shape.head_dim;
  take(x.q, row, u.packed.q);
  take(x.k, shape.num_kv_heads * shape.head_dim, u.packed.k);
  take(x.v, shape.num_kv_heads * shape.head_dim, u.packed.v);
  take(x.dout, row, u.packed.dout);
  for (size_t t = 0; t < u.source.size(); ++t)
    if (u.copied[t]) std::fill_n(u.packed.dout.begin() + static_cast<int64_t>(t) * row, row, 0.0F);
  return u;
}

/// Sum over a token's copies, in float64.
Doubles folded(const Unshared& u, const Floats& x, int64_t row, size_t tokens) {
  Doubles sum(tokens * static_cast<size_t>(row));
  for (size_t t = 0; t < u.source.size(); ++t)
    for (int64_t i = 0; i < row; ++i)
      sum[u.source[t] * static_cast<size_t>(row) + static_cast<size_t>(i)] +=
          x[t * static_cast<size_t>(row) + static_cast<size_t>(i)];
  return sum;
}

void check_gradient(const Floats& got, const Doubles& want) {
  double largest = 0;
  for (const double w : want) largest = std::max(largest, std::abs(w));
  REQUIRE(worst_error(got, want, largest) < 1e-6);
}

void compare(const AttentionShape& shape, const Packed& x, const Unshared& u) {
  const int64_t row = shape.num_heads * shape.head_dim;
  const int64_t kv_row = shape.num_kv_heads * shape.head_dim;
  for (size_t t = 0; t < u.source.size(); ++t) {
    const auto from = static_cast<int64_t>(t);
    const auto to = static_cast<int64_t>(u.source[t]);
    REQUIRE(same_bits(x.out.data() + to * row, u.packed.out.data() + from * row, row));
    REQUIRE(same_bits(x.lse.data() + to * shape.num_heads, u.packed.lse.data() + from * shape.num_heads,
                      shape.num_heads));
  }
  const auto tokens = static_cast<size_t>(x.cu_seqlens.back());
  check_gradient(x.dq, folded(u, u.packed.dq, row, tokens));
  check_gradient(x.dk, folded(u, u.packed.dk, kv_row, tokens));
  check_gradient(x.dv, folded(u, u.packed.dv, kv_row, tokens));
}

const std::vector<AttentionShape> kShapes = {
    {9, 3, 64, 0, 0.125F}, {2, 2, 6, 0, 0.4F},    {14, 2, 64, 0, 0.1F},
    {3, 1, 100, 33, 0.1F}, {4, 2, 18, 200, 0.3F},
};

/// Against unshared sequences, and against itself on one thread.
void check_shared(const AttentionShape& shape, const std::vector<int32_t>& cu,
                  const std::vector<int32_t>& parent) {
  InlineExecutor one;
  ThreadPool three(3);
  Packed x = shared_case(shape, cu, parent);
  Unshared u = unshare(shape, x);
  run(three, shape, x);
  run(three, shape, u.packed);
  compare(shape, x, u);
  Packed again = shared_case(shape, cu, parent);
  run(one, shape, again);
  REQUIRE(same_bits(again.out, x.out));
  REQUIRE(same_bits(again.dq, x.dq));
  REQUIRE(same_bits(again.dk, x.dk));
  REQUIRE(same_bits(again.dv, x.dv));
}

}  // namespace

TEST_CASE("a shared prompt: outputs bit for bit, gradients within rounding of unshared sequences") {
  // Prompts of less than a page, a page, and pages and a part; segments alone and empty between them.
  const std::vector<int32_t> cu = {0, 37, 58, 70, 70, 171, 299, 300, 350, 611, 650, 790, 800};
  const std::vector<int32_t> parent = {-1, -1, 1, 1, 1, -1, 5, 5, -1, 8, 8, -1};
  on_every_target([&](const std::string&) {
    for (const AttentionShape& shape : kShapes) {
      INFO("heads " << shape.num_heads << " head_dim " << shape.head_dim << " window " << shape.window);
      check_shared(shape, cu, parent);
    }
  });
}

TEST_CASE("a long shared prompt and long samples, whose backward is cut into parts") {
  check_shared({3, 1, 32, 0, 0.2F}, {0, 1100, 1700, 1710}, {-1, 0, 0});
}

}  // namespace verlc::kernels::test
