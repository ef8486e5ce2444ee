// Causal attention of packed sequences, forward and backward, and of one query each over cached keys.
#include <fmt/core.h>

#include <deque>

#include "bench/bench.hpp"
#include "bench/floats.hpp"
#include "core/base/thread_pool.hpp"
#include "core/kernels/cpu/attention.hpp"

namespace verlc::bench {
namespace {

using namespace kernels;

// Sequences of one length with keys and values in pages of that length.
struct Sequences {
  AttentionShape shape;
  int64_t batch, length, row, kv_row;
  Floats q, k, v, out, lse;
  std::deque<Floats> pages;
  std::deque<float*> k_pages, v_pages;
  std::vector<AttentionSequence> list;
  std::vector<int32_t> cu = {0};

  Sequences(const AttentionShape& of, int64_t count, int64_t tokens)
      : shape(of),
        batch(count),
        length(tokens),
        row(of.num_heads * of.head_dim),
        kv_row(of.num_kv_heads * of.head_dim),
        q(count * tokens * row),
        k(count * tokens * kv_row),
        v(count * tokens * kv_row),
        out(count * tokens * row),
        lse(count * tokens * of.num_heads) {
    for (int64_t s = 0; s < batch; ++s) {
      k_pages.push_back(pages.emplace_back(kv_page_floats(shape, length)).get());
      v_pages.push_back(pages.emplace_back(kv_page_floats(shape, length)).get());
      write_kv(shape, k.get() + s * length * kv_row, v.get() + s * length * kv_row, length, 0,
               &k_pages.back(), &v_pages.back(), length);
      list.push_back({q.get() + s * length * row,
                      out.get() + s * length * row,
                      lse.get() + s * length * shape.num_heads,
                      length,
                      0,
                      {&k_pages.back(), &v_pages.back(), length}});
      cu.push_back(static_cast<int32_t>((s + 1) * length));
    }
  }
  [[nodiscard]] double flops() const {
    return 4.0 * static_cast<double>(row * batch) * static_cast<double>(length * (length + 1) / 2);
  }
};

void training(Timer& timer, Report& report, const AttentionShape& shape, int64_t batch, int64_t length) {
  Sequences sequences(shape, batch, length);
  const std::string size =
      fmt::format("S={} x{} H{}/{} D{}", length, batch, shape.num_heads, shape.num_kv_heads, shape.head_dim);
  const Work forward{sequences.flops(), 0, Arithmetic::f32};
  report.row({"forward " + size, "GF", forward.flops * 1e-9,
              timer.time(forward, [&] { attention_forward(timer.threads(), shape, sequences.list); })});
  const int64_t tokens = batch * length;
  Floats dout(tokens * sequences.row), dq(tokens * sequences.row), dk(tokens * sequences.kv_row),
      dv(tokens * sequences.kv_row);
  Floats scratch(attention_backward_scratch_floats(shape, {sequences.cu, {}}), false);
  const Work backward{2.5 * sequences.flops(), 0, Arithmetic::f32};
  report.row({"backward " + size, "GF", backward.flops * 1e-9, timer.time(backward, [&] {
                attention_backward(timer.threads(), shape, sequences.q.get(), sequences.k.get(),
                                   sequences.v.get(), sequences.out.get(), dout.get(), sequences.lse.get(),
                                   {sequences.cu, {}}, dq.get(), dk.get(), dv.get(), scratch.get());
              })});
}

// One query for each of the sequences, over pages of 16 keys. Groups of `group` have the first `common` keys
// in common: in the same pages, which the kernel reads once.
struct Decode {
  int64_t batch, context, group, common;
};

void decode(Timer& timer, Report& report, const AttentionShape& shape, const Decode& size) {
  constexpr int64_t kPage = 16;
  const auto& [batch, context, group, common] = size;
  const int64_t each = context / kPage, shared = common / kPage;
  const int64_t kv = kv_page_floats(shape, kPage), row = shape.num_heads * shape.head_dim;
  Floats k(batch * each * kv), v(batch * each * kv), q(batch * row), out(batch * row);
  std::vector<float*> k_pages, v_pages;
  for (int64_t i = 0; i < batch * each; ++i) {
    const int64_t sequence = i / each, page = i % each;
    const int64_t owner = page < shared ? sequence / group * group : sequence;
    k_pages.push_back(k.get() + (owner * each + page) * kv);
    v_pages.push_back(v.get() + (owner * each + page) * kv);
  }
  std::vector<AttentionSequence> sequences;
  for (int64_t s = 0; s < batch; ++s) {
    const auto first = static_cast<size_t>(s * each);
    sequences.push_back({q.get() + s * row,
                         out.get() + s * row,
                         nullptr,
                         1,
                         context - 1,
                         {&k_pages[first], &v_pages[first], kPage},
                         s % group > 0 ? common : 0});
  }
  const double queried = static_cast<double>(batch * context);
  const double read = static_cast<double>(batch * (context - common) + batch / group * common);
  const Work work{4 * queried * static_cast<double>(row),
                  8 * read * static_cast<double>(shape.num_kv_heads * shape.head_dim), Arithmetic::f32};
  report.row({fmt::format("decode {} x {} H{}/{} D{}{}", batch, context, shape.num_heads, shape.num_kv_heads,
                          shape.head_dim, common > 0 ? fmt::format(" shared {}", common) : ""),
              "GF", work.flops * 1e-9,
              timer.time(work, [&] { attention_forward(timer.threads(), shape, sequences); })});
}

int run(const BenchOptions& options, Report& report) {
  ThreadPool pool(num_threads(options));
  Timer timer = make_timer(pool, options);
  const std::vector<AttentionShape> shapes = {{9, 3, 64, 0, 0.125F}, {14, 2, 64, 0, 0.125F}};
  const std::vector<int64_t> lengths =
      options.tiny ? std::vector<int64_t>{64} : std::vector<int64_t>{128, 256, 512, 1024, 2048};
  for (const AttentionShape& shape : shapes) {
    for (const int64_t length : lengths)
      training(timer, report, shape, options.tiny ? 2 : 2048 / length, length);
    const Decode apart = options.tiny ? Decode{4, 48, 2, 0} : Decode{64, 192, 8, 0};
    decode(timer, report, shape, apart);
    decode(timer, report, shape, {apart.batch, apart.context, apart.group, options.tiny ? 32 : 128});
  }
  return 0;
}

}  // namespace

void bench_attention(BenchRegistry& registry) {
  registry.add({"attention", "causal attention: forward, backward, and decode over cached keys", 0, run});
}

}  // namespace verlc::bench
