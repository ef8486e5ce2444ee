#include "core/kernels/cpu/gemm.hpp"

#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

enum class Form { nt, nn, tn, packed, packed_transposed, packed_weights, packed_bf16, tn_bf16 };

float bf16_value(float x) {
  InlineExecutor one;
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

/// One product of `rows` x `outputs` over `depth`: left [rows, depth] and right [outputs, depth] in logical
/// order.
struct Problem {
  int64_t rows, outputs, depth;
  Floats left, right, bias, start;
};

Problem make_problem(int64_t rows, int64_t outputs, int64_t depth, uint64_t seed) {
  Values values(seed);
  return {rows,
          outputs,
          depth,
          values.floats(rows * depth),
          values.floats(outputs * depth),
          values.floats(outputs),
          values.floats(rows * outputs)};
}

Floats transposed(const Floats& x, int64_t rows, int64_t columns) {
  Floats y(x.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
  }
  return y;
}

void multiply_packed(Executor& threads, const Problem& p, Precision precision, bool from_transposed,
                     const float* bias, bool accumulate, Floats& c) {
  Floats packed = filled(packed_words(precision, p.outputs, p.depth));
  if (from_transposed) {
    const Floats w = transposed(p.right, p.outputs, p.depth);
    pack_weight_transposed(threads, precision, w.data(), p.depth, p.outputs, packed.data());
  } else {
    pack_weight(threads, precision, p.right.data(), p.outputs, p.depth, packed.data());
  }
  Floats scratch = filled(gemm_packed_scratch_floats(precision, p.rows, p.depth));
  gemm_packed(threads, p.left.data(), PackedMatrix{packed.data(), precision, p.depth}, bias, c.data(), p.rows,
              p.outputs, p.depth, accumulate, scratch.data());
}

/// The same logical product through one of the entry points.
Floats multiply(Executor& threads, const Problem& p, Form form, bool accumulate, bool bias) {
  Floats c = accumulate ? p.start : filled(p.rows * p.outputs);
  Floats scratch = filled(static_cast<int64_t>(gemm_tn_scratch_floats(threads.threads())));
  const float* b = bias ? p.bias.data() : nullptr;
  switch (form) {
    case Form::nt:
      gemm_nt(threads, p.left.data(), p.right.data(), b, c.data(), p.rows, p.outputs, p.depth, accumulate,
              scratch.data());
      break;
    case Form::nn: {
      const Floats w = transposed(p.right, p.outputs, p.depth);
      gemm_nn(threads, p.left.data(), w.data(), c.data(), p.rows, p.depth, p.outputs, accumulate,
              scratch.data());
      break;
    }
    case Form::tn: {
      const Floats dy = transposed(p.left, p.rows, p.depth);
      const Floats x = transposed(p.right, p.outputs, p.depth);
      gemm_tn(threads, Precision::f32, dy.data(), x.data(), c.data(), p.depth, p.rows, p.outputs, accumulate,
              scratch.data());
      break;
    }
    case Form::tn_bf16: {
      const Floats dy = transposed(p.left, p.rows, p.depth);
      const Floats x = transposed(p.right, p.outputs, p.depth);
      gemm_tn(threads, Precision::bf16, dy.data(), x.data(), c.data(), p.depth, p.rows, p.outputs, accumulate,
              scratch.data());
      break;
    }
    case Form::packed:
      multiply_packed(threads, p, Precision::f32, false, b, accumulate, c);
      break;
    case Form::packed_transposed:
      multiply_packed(threads, p, Precision::f32, true, b, accumulate, c);
      break;
    case Form::packed_weights:
      multiply_packed(threads, p, Precision::bf16_weights, false, b, accumulate, c);
      break;
    case Form::packed_bf16:
      multiply_packed(threads, p, Precision::bf16, false, b, accumulate, c);
      break;
  }
  return c;
}

/// |error| over the sum of absolute products, the measure of a dot product.
double worst_relative(const Problem& p, const Floats& c, bool accumulate, bool bias) {
  double worst = 0;
  for (int64_t i = 0; i < p.rows; ++i) {
    for (int64_t j = 0; j < p.outputs; ++j) {
      double sum = accumulate ? p.start[i * p.outputs + j] : 0.0;
      double size = std::abs(sum) + 1e-6;
      for (int64_t k = 0; k < p.depth; ++k) {
        const double term = static_cast<double>(p.left[i * p.depth + k]) * p.right[j * p.depth + k];
        sum += term;
        size += std::abs(term);
      }
      if (bias) {
        sum += p.bias[j];
        size += std::abs(p.bias[j]);
      }
      const double error = std::abs(c[i * p.outputs + j] - sum) / size;
      worst = std::isnan(error) ? 1e9 : std::max(worst, error);
    }
  }
  return worst;
}

constexpr Form kForms[] = {
    Form::nt,          Form::nn,     Form::tn, Form::packed, Form::packed_transposed, Form::packed_weights,
    Form::packed_bf16, Form::tn_bf16};

bool rounds_right(Form form) {
  return form == Form::packed_weights || form == Form::packed_bf16 || form == Form::tn_bf16;
}
bool rounds_left(Form form) {
  return form == Form::packed_bf16 || form == Form::tn_bf16;
}
bool takes_bias(Form form) {
  return form != Form::nn && form != Form::tn && form != Form::tn_bf16;
}

}  // namespace

TEST_CASE("gemm: every form agrees with float64 on odd sizes") {
  ThreadPool pool(2);
  on_every_target([&](const std::string&) {
    Values sizes(3);
    for (int i = 0; i < 25; ++i) {
      Problem p = make_problem(sizes.integer(1, 70), sizes.integer(1, 150), sizes.integer(1, 600), 100 + i);
      for (const Form form : kForms) {
        if (rounds_right(form))
          for (float& f : p.right) f = bf16_value(f);
        if (rounds_left(form))
          for (float& f : p.left) f = bf16_value(f);
        const bool accumulate = i % 2 == 0;
        const bool bias = i % 3 == 0 && takes_bias(form);
        INFO("rows " << p.rows << " outputs " << p.outputs << " depth " << p.depth << " form "
                     << static_cast<int>(form));
        REQUIRE(worst_relative(p, multiply(pool, p, form, accumulate, bias), accumulate, bias) < 1e-6);
      }
    }
  });
}

TEST_CASE("gemm: rows have the same bits for every M, thread count and form") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string& name) {
    const int64_t most = name == "portable" ? 130 : 1030;
    const int64_t outputs = 101;
    const int64_t depth = 700;
    const Problem all = make_problem(most, outputs, depth, 9);
    for (const bool accumulate : {false, true}) {
      const Floats whole = multiply(one, all, Form::packed, accumulate, true);
      const Floats whole_narrow = multiply(one, all, Form::packed_bf16, accumulate, true);
      for (const int64_t rows : {1, 2, 3, 5, 7, 8, 9, 64, 127, 128, 1024}) {
        if (rows > most) continue;
        Problem part = all;
        const int64_t skip = (most - rows) / 2;  // rows from the middle
        part.rows = rows;
        part.left.assign(all.left.begin() + skip * depth, all.left.begin() + (skip + rows) * depth);
        part.start.assign(all.start.begin() + skip * outputs, all.start.begin() + (skip + rows) * outputs);
        INFO("rows " << rows << " accumulate " << accumulate);
        const float* expected = whole.data() + skip * outputs;
        REQUIRE(same_bits(multiply(three, part, Form::packed, accumulate, true).data(), expected,
                          rows * outputs));
        REQUIRE(
            same_bits(multiply(three, part, Form::nt, accumulate, true).data(), expected, rows * outputs));
        REQUIRE(same_bits(multiply(three, part, Form::packed_bf16, accumulate, true).data(),
                          whole_narrow.data() + skip * outputs, rows * outputs));
        REQUIRE(same_bits(multiply(three, part, Form::tn_bf16, accumulate, false),
                          multiply(one, part, Form::packed_bf16, accumulate, false)));
        const Floats plain = multiply(one, part, Form::nt, accumulate, false);
        REQUIRE(same_bits(multiply(three, part, Form::packed_transposed, accumulate, false), plain));
        REQUIRE(same_bits(multiply(three, part, Form::nn, accumulate, false), plain));
        REQUIRE(same_bits(multiply(three, part, Form::tn, accumulate, false), plain));
      }
    }
  });
}

TEST_CASE("gemm: a reduction cut at a multiple of 128 and accumulated gives the same bits") {
  InlineExecutor one;
  on_every_target([&](const std::string&) {
    const int64_t rows = 13;
    const int64_t outputs = 50;
    const Problem whole = make_problem(rows, outputs, 333, 4);
    Problem first{rows, outputs, 128, {}, {}, {}, {}};
    Problem second{rows, outputs, 205, {}, {}, {}, {}};
    const auto take = [](const Floats& x, int64_t count, int64_t from, int64_t depth) {
      Floats y;
      for (int64_t i = 0; i < count; ++i)
        y.insert(y.end(), x.begin() + i * 333 + from, x.begin() + i * 333 + from + depth);
      return y;
    };
    first.left = take(whole.left, rows, 0, 128);
    first.right = take(whole.right, outputs, 0, 128);
    second.left = take(whole.left, rows, 128, 205);
    second.right = take(whole.right, outputs, 128, 205);
    for (const Form form : kForms) {
      second.start = multiply(one, first, form, false, false);
      REQUIRE(same_bits(multiply(one, second, form, true, false), multiply(one, whole, form, false, false)));
    }
  });
}

TEST_CASE("gemm: bf16 panels widen exactly") {
  InlineExecutor one;
  on_every_target([&](const std::string&) {
    for (const int64_t rows : {1, 8, 40}) {
      Problem p = make_problem(rows, 97, 301, 5);
      const Floats narrow = multiply(one, p, Form::packed_weights, false, true);
      for (float& f : p.right) f = bf16_value(f);
      REQUIRE(same_bits(narrow, multiply(one, p, Form::packed, false, true)));
    }
  });
}

TEST_CASE("gemm: an empty reduction gives zero, or leaves an accumulated output") {
  InlineExecutor one;
  on_every_target([&](const std::string&) {
    const Problem p = make_problem(3, 50, 0, 6);
    for (const Form form : kForms) {
      REQUIRE(same_bits(multiply(one, p, form, false, false), filled(150, 0.0F)));
      REQUIRE(same_bits(multiply(one, p, form, true, false), p.start));
    }
  });
}

}  // namespace verlc::kernels::test
