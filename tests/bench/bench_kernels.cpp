// Speed of the CPU kernels next to the FMA peak of the same minute: a peak loop runs before and after each
// line, and the percentage is of their mean. usage: bench_kernels [gemm|attention|vocab|adamw] [threads]
#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "bench/peak.hpp"
#include "core/base/thread_pool.hpp"
#include "core/kernels/cpu/attention.hpp"
#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/target.hpp"
#include "core/kernels/cpu/vocab.hpp"

using namespace verlc;
using namespace verlc::kernels;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One thread is timed by its own CPU clock, so that other processes count less; a team by the wall.
bool use_cpu_clock = false;

double now() {
  timespec time{};
  clock_gettime(use_cpu_clock ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Zero-mean values in 64-byte aligned memory, kept for the life of the program.
float* values(size_t n) {
  auto* p = static_cast<float*>(::operator new (n * sizeof(float) + 4096, std::align_val_t{1 << 21}));
  madvise(p, n * sizeof(float) + 4096, MADV_HUGEPAGE);
  uint32_t state = 12345;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    p[i] = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return p;
}

template <typename F>
double seconds_of(F&& body) {
  const double start = now();
  body();
  return now() - start;
}

/// Keeps a result from being optimised away.
volatile float sink;

/// GF/s of the peak loop.
double peak(Executor& threads, int64_t steps) {
  const double time = seconds_of([&] { bench::peak_loop(threads, steps); });
  return bench::peak_flops(threads, steps) / time * 1e-9;
}

/// Alternates the peak loop and the body, each about as long, since neighbours on a shared machine slow both;
/// prints the fastest rate and the median of rate / (mean of the peaks around it).
void report(Executor& threads, const std::string& name, double flops, const std::function<void()>& body,
            double bytes = 0) {
  body();
  const double estimate = seconds_of(body);
  const int64_t steps = std::clamp<int64_t>(static_cast<int64_t>(estimate * 2e8), 2000, 10'000'000);
  std::vector<double> shares;
  double best = 1e9;
  double before = peak(threads, steps);
  double top = before;
  const auto begin = Clock::now();
  while (shares.size() < 3 || (seconds_since(begin) < 0.2 && shares.size() < 500)) {
    const double time = seconds_of(body);
    const double after = peak(threads, steps);
    shares.push_back(200 * flops / time * 1e-9 / (before + after));
    best = std::min(best, time);
    before = after;
    top = std::max(top, after);
  }
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2),
                   shares.end());
  const std::string traffic = bytes > 0 ? fmt::format("  {:6.1f} GB/s", bytes / best * 1e-9) : "";
  fmt::print("{:<44} best {:7.1f} of {:4.0f} GF/s, median {:5.1f} % of peak{}\n", name, flops / best * 1e-9,
             top, shares[shares.size() / 2], traffic);
  std::fflush(stdout);
}

void bench_gemm(Executor& threads) {
  const std::pair<int64_t, int64_t> shapes[] = {{576, 1536}, {1536, 576}, {576, 49152}};
  for (const auto& [k, n] : shapes) {
    float* x = values(1024 * std::max(k, n));
    float* w = values(static_cast<size_t>(n * k));
    float* y = values(1024 * std::max(k, n));
    float* dw = values(static_cast<size_t>(n * k));
    float* packed = values(packed_words(Precision::f32, n, k));
    float* narrow = values(packed_words(Precision::bf16, n, k));
    float* pairs = values(gemm_packed_scratch_floats(Precision::bf16, 1024, k));
    float* scratch = values(gemm_scratch_floats(threads.threads()));
    report(
        threads, fmt::format("pack                 ({},{})", k, n), 0,
        [&] { pack_weight(threads, Precision::f32, w, n, k, packed); }, 8.0 * static_cast<double>(n * k));
    pack_weight(threads, Precision::bf16, w, n, k, narrow);
    for (const int64_t m : {1, 2, 4, 8, 64, 256, 1024}) {
      const double flops = 2.0 * static_cast<double>(m * n * k);
      const double bytes = 4.0 * static_cast<double>(n * k);
      const std::string size = fmt::format("M={:<4} (K,N)=({},{})", m, k, n);
      report(
          threads, "packed " + size, flops,
          [&] {
            gemm_packed(threads, x, {packed, Precision::f32, k}, nullptr, y, m, n, k, false, nullptr);
          },
          bytes);
      report(
          threads, "bf16   " + size, flops,
          [&] {
            gemm_packed(threads, x, {narrow, Precision::bf16, k}, nullptr, y, m, n, k, false, pairs);
          },
          bytes / 2);
      report(
          threads, "bf16w  " + size, flops,
          [&] {
            gemm_packed(threads, x, {narrow, Precision::bf16_weights, k}, nullptr, y, m, n, k, false,
                        nullptr);
          },
          bytes / 2);
      if (m >= 64)
        report(
            threads, "tnbf16 " + size, flops,
            [&] { gemm_tn(threads, Precision::bf16, y, x, dw, m, n, k, false, scratch); }, bytes);
      if (m == 2 || m == 4) continue;
      report(
          threads, "nt     " + size, flops,
          [&] { gemm_nt(threads, x, w, nullptr, y, m, n, k, false, scratch); }, bytes);
      report(
          threads, "nn     " + size, flops, [&] { gemm_nn(threads, y, w, x, m, n, k, false, scratch); },
          bytes);
      report(
          threads, "tn     " + size, flops,
          [&] { gemm_tn(threads, Precision::f32, y, x, dw, m, n, k, false, scratch); }, bytes);
    }
    for (void* p :
         {static_cast<void*>(x), static_cast<void*>(w), static_cast<void*>(y), static_cast<void*>(dw),
          static_cast<void*>(packed), static_cast<void*>(narrow), static_cast<void*>(scratch)}) {
      ::operator delete (p, std::align_val_t{1 << 21});
    }
  }
}

/// One query for each of 64 sequences in pages of 16; groups of 8 have the first 128 keys in common and read
/// them together, or apart.
void bench_decode(Executor& threads, const AttentionShape& shape, bool share) {
  const int64_t context = 192;
  const int64_t common = 128;
  const int64_t batch = 64;
  const int64_t page = 16;
  const int64_t each = context / page;
  const int64_t kv = kv_page_floats(shape, page);
  const int64_t row = shape.num_heads * shape.head_dim;
  float* k = values(batch * each * kv);
  float* v = values(batch * each * kv);
  float* q = values(batch * row);
  float* out = values(batch * row);
  std::vector<float*> k_pages;
  std::vector<float*> v_pages;
  for (int64_t i = 0; i < batch * each; ++i) {
    const int64_t owner = share && i % each < common / page ? i / each / 8 * 8 * each + i % each : i;
    k_pages.push_back(k + owner * kv);
    v_pages.push_back(v + owner * kv);
  }
  std::vector<AttentionSequence> sequences;
  for (int64_t s = 0; s < batch; ++s) {
    const KvPages pages{&k_pages[static_cast<size_t>(s * each)], &v_pages[static_cast<size_t>(s * each)],
                        page};
    sequences.push_back(
        {q + s * row, out + s * row, nullptr, 1, context - 1, pages, share && s % 8 > 0 ? common : 0});
  }
  const double keys =
      static_cast<double>(share ? batch * (context - common) + batch / 8 * common : batch * context);
  report(
      threads,
      fmt::format("attention decode 64 x 192 H{}/{}{}", shape.num_heads, shape.num_kv_heads,
                  share ? " shared 128" : ""),
      4.0 * static_cast<double>(batch * context * row), [&] { attention_forward(threads, shape, sequences); },
      8.0 * keys * static_cast<double>(shape.num_kv_heads * shape.head_dim));
}

void bench_attention(Executor& threads) {
  for (const AttentionShape shape :
       {AttentionShape{9, 3, 64, 0, 0.125F}, AttentionShape{14, 2, 64, 0, 0.125F}}) {
    for (const int64_t length : {256, 512, 1024, 2048}) {
      const int64_t batch = 2048 / length;
      const int64_t tokens = batch * length;
      const int64_t row = shape.num_heads * shape.head_dim;
      const int64_t kv_row = shape.num_kv_heads * shape.head_dim;
      float* q = values(tokens * row);
      float* k = values(tokens * kv_row);
      float* v = values(tokens * kv_row);
      float* out = values(tokens * row);
      float* lse = values(tokens * shape.num_heads);
      std::vector<float*> k_pages;
      std::vector<float*> v_pages;
      std::vector<AttentionSequence> sequences;
      std::vector<int32_t> cu = {0};
      for (int64_t s = 0; s < batch; ++s) {
        k_pages.push_back(values(kv_page_floats(shape, length)));
        v_pages.push_back(values(kv_page_floats(shape, length)));
        cu.push_back(static_cast<int32_t>((s + 1) * length));
      }
      for (int64_t s = 0; s < batch; ++s) {
        write_kv(shape, k + s * length * kv_row, v + s * length * kv_row, length, 0, &k_pages[s], &v_pages[s],
                 length);
        sequences.push_back({q + s * length * row,
                             out + s * length * row,
                             lse + s * length * shape.num_heads,
                             length,
                             0,
                             {&k_pages[s], &v_pages[s], length}});
      }
      const double flops = 4.0 * static_cast<double>(shape.head_dim * shape.num_heads * batch) *
                           static_cast<double>(length * (length + 1) / 2);
      const std::string size = fmt::format("S={:<4} x{} H{}/{} D{}", length, batch, shape.num_heads,
                                           shape.num_kv_heads, shape.head_dim);
      report(threads, "attention fwd " + size, flops, [&] { attention_forward(threads, shape, sequences); });
      float* dout = values(tokens * row);
      float* dq = values(tokens * row);
      float* dk = values(tokens * kv_row);
      float* dv = values(tokens * kv_row);
      float* scratch = values(attention_backward_scratch_floats(shape, {cu, {}}));
      report(threads, "attention bwd " + size, 2.5 * flops, [&] {
        attention_backward(threads, shape, q, k, v, out, dout, lse, {cu, {}}, dq, dk, dv, scratch);
      });
    }
    bench_decode(threads, shape, false);
    bench_decode(threads, shape, true);
  }
}

void bench_vocab(Executor& threads) {
  const int64_t rows = 512;
  const int64_t hidden = 576;
  const int64_t vocab = 49152;
  float* h = values(rows * hidden);
  float* w = values(vocab * hidden);
  float* packed = values(packed_words(Precision::f32, vocab, hidden));
  pack_weight(threads, Precision::f32, w, vocab, hidden, packed);
  std::vector<int32_t> targets(rows, 17);
  std::vector<float> ones(rows, 1.0F);
  std::vector<float> logp(rows);
  std::vector<float> entropy(rows);
  std::vector<float> lse(rows);
  float* dh = values(rows * hidden);
  float* d_head = values(vocab * hidden);
  float* scratch = values(vocab_scratch_floats(threads.threads(), rows, hidden));
  const double flops = 2.0 * static_cast<double>(rows * hidden * vocab);
  report(threads, "vocab fwd 512 x 576 x 49152", flops, [&] {
    vocab_logprob_forward(threads, h, {w, {packed, Precision::f32, hidden}}, targets.data(), ones.data(),
                          rows, hidden, vocab, logp.data(), entropy.data(), lse.data(), scratch);
  });
  report(threads, "vocab bwd 512 x 576 x 49152", 3 * flops, [&] {
    vocab_logprob_backward(threads, h, {w, {packed, Precision::f32, hidden}}, targets.data(), ones.data(),
                           entropy.data(), lse.data(), ones.data(), nullptr, rows, hidden, vocab, dh, d_head,
                           scratch);
  });
  report(threads, "row_log_sum_exp 49152", 49152, [&] { sink = row_log_sum_exp(w, vocab, 1.0F); });
}

void bench_adamw(Executor& threads) {
  const size_t n = 16 << 20;
  float* state[4] = {values(n), values(n), values(n), values(n)};
  for (size_t i = 0; i < n; ++i) state[3][i] = std::abs(state[3][i]);
  report(
      threads, "adamw 16 Mi parameters", 14.0 * static_cast<double>(n),
      [&] { adamw(threads, {.lr = 1e-4, .step = 10}, state[0], state[1], state[2], state[3], n); },
      28.0 * static_cast<double>(n));
  report(
      threads, "sum_of_squares 16 Mi", 2.0 * static_cast<double>(n),
      [&] { sink = static_cast<float>(sum_of_squares(threads, state[1], n)); }, 4.0 * static_cast<double>(n));
  report(
      threads, "swiglu 8 Mi", 8.0 * static_cast<double>(n),
      [&] { swiglu_forward(threads, state[0], state[1], state[2], n / 2); }, 6.0 * static_cast<double>(n));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string only = argc > 1 ? argv[1] : "all";
  const int most = argc > 2 ? std::atoi(argv[2]) : std::min(2, available_threads());
  const int least = argc > 2 ? most : 1;
  for (int count = std::max(1, least); count <= most; ++count) {
    ThreadPool pool(count);
    use_cpu_clock = count == 1;
    fmt::print("-- {} thread(s), {}\n", count, cpu_target());
    if (only == "all" || only == "gemm") bench_gemm(pool);
    if (only == "all" || only == "attention") bench_attention(pool);
    if (only == "all" || only == "vocab") bench_vocab(pool);
    if (only == "all" || only == "adamw") bench_adamw(pool);
  }
  return 0;
}
