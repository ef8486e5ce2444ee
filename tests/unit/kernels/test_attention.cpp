#include "core/kernels/cpu/attention.hpp"

#include <algorithm>

#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

/// Pages of one sequence, filled with NaN until written.
struct Cache {
  Cache(const AttentionShape& shape, int64_t page_size, int64_t length) : page_size(page_size) {
    const int64_t count = (length + page_size - 1) / page_size;
    for (int64_t i = 0; i < count; ++i) {
      k.push_back(filled(kv_page_floats(shape, page_size)));
      v.push_back(filled(kv_page_floats(shape, page_size)));
    }
    for (int64_t i = 0; i < count; ++i) {
      k_pages.push_back(k[i].data());
      v_pages.push_back(v[i].data());
    }
  }
  [[nodiscard]] KvPages pages() const { return {k_pages.data(), v_pages.data(), page_size}; }
  int64_t page_size;
  std::vector<Floats> k, v;
  std::vector<float*> k_pages, v_pages;
};

struct Inputs {
  Floats q, k, v;
};

Inputs make_inputs(const AttentionShape& shape, int64_t length, uint64_t seed, float factor = 1.5F) {
  Values values(seed);
  return {values.floats(length * shape.num_heads * shape.head_dim, factor),
          values.floats(length * shape.num_kv_heads * shape.head_dim, factor),
          values.floats(length * shape.num_kv_heads * shape.head_dim, factor)};
}

struct Outputs {
  Floats out, lse;
};

/// Queries [first, first + count) of the sequence, all keys up to the last query written.
Outputs run(Executor& threads, const AttentionShape& shape, const Inputs& in, int64_t first, int64_t count,
            int64_t page_size) {
  Cache cache(shape, page_size, first + count);
  write_kv(shape, in.k.data(), in.v.data(), first + count, 0, cache.k_pages.data(), cache.v_pages.data(),
           page_size);
  Outputs result{filled(count * shape.num_heads * shape.head_dim), filled(count * shape.num_heads)};
  const AttentionSequence sequence{in.q.data() + first * shape.num_heads * shape.head_dim,
                                   result.out.data(),
                                   result.lse.data(),
                                   count,
                                   first,
                                   cache.pages()};
  attention_forward(threads, shape, {&sequence, 1});
  return result;
}

struct Reference {
  Doubles out, lse;
};

Reference reference(const AttentionShape& shape, const Doubles& q, const Doubles& k, const Doubles& v,
                    int64_t length) {
  const int64_t dim = shape.head_dim;
  const int64_t group = shape.num_heads / shape.num_kv_heads;
  Reference result{Doubles(q.size()), Doubles(length * shape.num_heads)};
  for (int64_t t = 0; t < length; ++t) {
    const int64_t begin = shape.window > 0 ? std::max<int64_t>(0, t - shape.window + 1) : 0;
    for (int64_t h = 0; h < shape.num_heads; ++h) {
      const double* row = q.data() + (t * shape.num_heads + h) * dim;
      Doubles score(t + 1);
      double top = -1e300;
      for (int64_t j = begin; j <= t; ++j) {
        const double* key = k.data() + (j * shape.num_kv_heads + h / group) * dim;
        for (int64_t i = 0; i < dim; ++i) score[j] += row[i] * key[i];
        score[j] *= shape.scale;
        top = std::max(top, score[j]);
      }
      double sum = 0;
      for (int64_t j = begin; j <= t; ++j) sum += std::exp(score[j] - top);
      result.lse[t * shape.num_heads + h] = top + std::log(sum);
      for (int64_t j = begin; j <= t; ++j) {
        const double p = std::exp(score[j] - top) / sum;
        const double* value = v.data() + (j * shape.num_kv_heads + h / group) * dim;
        for (int64_t i = 0; i < dim; ++i) result.out[(t * shape.num_heads + h) * dim + i] += p * value[i];
      }
    }
  }
  return result;
}

Doubles widened(const Floats& x) {
  return {x.begin(), x.end()};
}

const std::vector<AttentionShape> kShapes = {
    {9, 3, 64, 0, 0.125F}, {4, 4, 32, 0, 0.2F},   {6, 1, 80, 0, 0.11F},   {2, 2, 6, 0, 0.4F},
    {14, 2, 64, 0, 0.1F},  {3, 1, 100, 33, 0.1F}, {8, 2, 128, 70, 0.09F}, {4, 2, 18, 1, 0.3F},
};

}  // namespace

TEST_CASE("attention forward agrees with float64") {
  ThreadPool pool(2);
  on_every_target([&](const std::string&) {
    for (const AttentionShape& shape : kShapes) {
      for (const int64_t length : {1, 2, 17, 64, 65, 150, 201}) {
        const Inputs in = make_inputs(shape, length, 7 + length);
        const Outputs result = run(pool, shape, in, 0, length, 32);
        const Reference expected = reference(shape, widened(in.q), widened(in.k), widened(in.v), length);
        INFO("head_dim " << shape.head_dim << " length " << length << " window " << shape.window);
        REQUIRE(worst_error(result.out, expected.out, 0.1) < 1e-5);
        REQUIRE(worst_error(result.lse, expected.lse, 1.0) < 2e-6);
      }
    }
  });
}

TEST_CASE("attention forward: one query equals many, for every page size, chunking and thread count") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const AttentionShape& shape : kShapes) {
      const int64_t length = 203;
      const int64_t row = shape.num_heads * shape.head_dim;
      const Inputs in = make_inputs(shape, length, 21, 4.0F);
      const Outputs whole = run(one, shape, in, 0, length, 208);
      INFO("heads " << shape.num_heads << " head_dim " << shape.head_dim << " window " << shape.window);
      for (const int64_t page_size : {16, 48, 64, 256}) {
        for (const int64_t chunk : {1, 7, 50, 203}) {
          if (chunk == 1 && page_size != 16 && page_size != 64) continue;
          for (int64_t first = 0; first < length; first += chunk) {
            if (chunk == 1 && first % 5 != 0 && first % 64 > 1) continue;
            const int64_t count = std::min(chunk, length - first);
            const Outputs part = run(three, shape, in, first, count, page_size);
            REQUIRE(same_bits(part.out.data(), whole.out.data() + first * row, count * row));
            REQUIRE(same_bits(part.lse.data(), whole.lse.data() + first * shape.num_heads,
                              count * shape.num_heads));
          }
        }
      }
    }
  });
}

TEST_CASE("attention forward: a sequence does not depend on the rest of the batch, nor on later keys") {
  ThreadPool pool(3);
  on_every_target([&](const std::string&) {
    const AttentionShape shape{6, 2, 32, 0, 0.17F};
    const int64_t row = shape.num_heads * shape.head_dim;
    std::vector<Inputs> inputs;
    std::vector<Cache> caches;
    std::vector<Outputs> outputs;
    std::vector<AttentionSequence> batch;
    const std::vector<int64_t> lengths = {1, 90, 33, 200, 64, 0};
    for (size_t s = 0; s < lengths.size(); ++s) {
      inputs.push_back(make_inputs(shape, 200, 50 + s));
      caches.emplace_back(shape, 32, 200);
      outputs.push_back({filled(lengths[s] * row), filled(lengths[s] * shape.num_heads)});
      // Keys after the last query hold infinities, which must not reach the result.
      std::fill(inputs[s].k.begin() + lengths[s] * 64, inputs[s].k.end(),
                std::numeric_limits<float>::infinity());
      std::fill(inputs[s].v.begin() + lengths[s] * 64, inputs[s].v.end(),
                std::numeric_limits<float>::infinity());
    }
    for (size_t s = 0; s < lengths.size(); ++s) {
      write_kv(shape, inputs[s].k.data(), inputs[s].v.data(), 200, 0, caches[s].k_pages.data(),
               caches[s].v_pages.data(), 32);
      batch.push_back({inputs[s].q.data(), outputs[s].out.data(), outputs[s].lse.data(), lengths[s], 0,
                       caches[s].pages()});
    }
    attention_forward(pool, shape, batch);
    for (size_t s = 0; s < lengths.size(); ++s) {
      const Outputs alone = run(pool, shape, inputs[s], 0, lengths[s], 64);
      REQUIRE(same_bits(alone.out, outputs[s].out));
      REQUIRE(same_bits(alone.lse, outputs[s].lse));
    }
  });
}

TEST_CASE("attention forward: NaN in a visible key shows, in a later key it does not") {
  InlineExecutor one;
  on_every_target([&](const std::string&) {
    const AttentionShape shape{2, 1, 16, 0, 0.25F};
    Inputs in = make_inputs(shape, 40, 3);
    in.v[20 * 16] = kNan;
    const Outputs result = run(one, shape, in, 0, 40, 16);
    for (int64_t t = 0; t < 40; ++t) REQUIRE(std::isnan(result.out[t * 32]) == (t >= 20));
  });
}

namespace {

struct Gradients {
  Floats dq, dk, dv;
};

Gradients backward(Executor& threads, const AttentionShape& shape, const Inputs& in, const Outputs& forward,
                   const Floats& dout, const std::vector<int32_t>& cu_seqlens,
                   const std::vector<int32_t>& parent = {}) {
  const PackedLayout layout{cu_seqlens, parent};
  Gradients g{filled(in.q.size()), filled(in.k.size()), filled(in.v.size())};
  Floats scratch = filled(attention_backward_scratch_floats(shape, layout));
  attention_backward(threads, shape, in.q.data(), in.k.data(), in.v.data(), forward.out.data(), dout.data(),
                     forward.lse.data(), layout, g.dq.data(), g.dk.data(), g.dv.data(), scratch.data());
  return g;
}

/// Central difference of sum(out * dout) of the float64 reference in one coordinate.
double slope(const AttentionShape& shape, Doubles q, Doubles k, Doubles v, int64_t length, const Floats& dout,
             int which, size_t at) {
  Doubles& x = which == 0 ? q : which == 1 ? k : v;
  const double step = 1e-5;
  const double center = x[at];
  const auto loss = [&](double value) {
    x[at] = value;
    const Reference r = reference(shape, q, k, v, length);
    double sum = 0;
    for (size_t i = 0; i < r.out.size(); ++i) sum += r.out[i] * dout[i];
    return sum;
  };
  return (loss(center + step) - loss(center - step)) / (2 * step);
}

}  // namespace

TEST_CASE("attention backward agrees with finite differences of the float64 reference") {
  InlineExecutor one;
  for (const AttentionShape& shape : kShapes) {
    const int64_t length = 71;
    const Inputs in = make_inputs(shape, length, 11);
    const Floats dout = Values(5).floats(static_cast<int64_t>(in.q.size()));
    on_every_target([&](const std::string&) {
      const Outputs forward = run(one, shape, in, 0, length, 80);
      const Gradients g = backward(one, shape, in, forward, dout, {0, static_cast<int32_t>(length)});
      Values pick(31);
      for (int i = 0; i < 12; ++i) {
        const int which = i % 3;
        const Floats& mine = which == 0 ? g.dq : which == 1 ? g.dk : g.dv;
        const auto at = static_cast<size_t>(pick.integer(0, static_cast<int64_t>(mine.size()) - 1));
        const double expected =
            slope(shape, widened(in.q), widened(in.k), widened(in.v), length, dout, which, at);
        INFO("head_dim " << shape.head_dim << " tensor " << which << " at " << at);
        REQUIRE(mine[at] == Approx(expected).epsilon(1e-4).margin(2e-5));
      }
    });
  }
}

TEST_CASE("attention backward: same bits for every thread count, sequences apart") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const AttentionShape& shape : kShapes) {
      const std::vector<int32_t> cu = {0, 70, 70, 71, 200, 333};
      Inputs all{};
      Outputs forward{};
      std::vector<Inputs> parts;
      for (size_t s = 0; s + 1 < cu.size(); ++s) {
        parts.push_back(make_inputs(shape, cu[s + 1] - cu[s], 60 + s));
        const Outputs out = run(one, shape, parts[s], 0, cu[s + 1] - cu[s], 64);
        const auto join = [](Floats& to, const Floats& from) {
          to.insert(to.end(), from.begin(), from.end());
        };
        join(all.q, parts[s].q);
        join(all.k, parts[s].k);
        join(all.v, parts[s].v);
        join(forward.out, out.out);
        join(forward.lse, out.lse);
      }
      const Floats dout = Values(6).floats(static_cast<int64_t>(all.q.size()));
      const Gradients a = backward(one, shape, all, forward, dout, cu);
      const Gradients b = backward(three, shape, all, forward, dout, cu);
      REQUIRE(same_bits(a.dq, b.dq));
      REQUIRE(same_bits(a.dk, b.dk));
      REQUIRE(same_bits(a.dv, b.dv));
      const int64_t row = shape.num_heads * shape.head_dim;
      const Outputs last = run(one, shape, parts[4], 0, 133, 64);
      const Floats tail(dout.begin() + 200 * row, dout.end());
      const Gradients alone = backward(one, shape, parts[4], last, tail, {0, 133});
      REQUIRE(same_bits(alone.dq.data(), a.dq.data() + 200 * row, 133 * row));
    }
  });
}

}  // namespace verlc::kernels::test
