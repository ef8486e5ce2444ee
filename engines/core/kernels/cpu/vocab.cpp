#include "core/kernels/cpu/vocab.hpp"

#include <algorithm>

#include "core/kernels/cpu/dispatch.hpp"
#include "core/kernels/cpu/gemm.hpp"
#include "core/kernels/cpu/split.hpp"
#include "core/kernels/cpu/vocab_rows.hpp"

namespace verlc::kernels {
namespace {

/// Rows of one task of the forward, and of one pass over the vocabulary of the backward.
constexpr int64_t kForwardRows = 128;
constexpr int64_t kBackwardRows = 1024;

struct Chunk {
  int64_t begin, count;
};

int64_t round_to_line(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

Chunk chunk_at(int64_t begin, int64_t vocab) {
  return {begin, std::min(kVocabChunk, vocab - begin)};
}

int64_t rounded_floats(Precision precision, int64_t rows, int64_t hidden) {
  return round_to_line(gemm_packed_scratch_floats(precision, rows, hidden));
}

/// h as the products with the head take it, rounded once for all chunks.
const float* head_input(Executor& threads, const float* h, Precision precision, int64_t rows, int64_t hidden,
                        float* scratch) {
  if (precision != Precision::bf16) return h;
  round_rows(threads, h, rows, hidden, scratch);
  return scratch;
}

/// logits [rows, chunk.count] = h W^T of the chunk's columns.
void chunk_logits(Executor& threads, const float* input, HeadWeight head, int64_t rows, int64_t hidden,
                  Chunk chunk, float* logits, float* gemm_scratch) {
  if (head.forward.panels != nullptr)
    return gemm_packed_rounded(threads, input, head.forward.from(chunk.begin / kPanel, 0), nullptr, logits,
                               rows, chunk.count, hidden, false);
  gemm_nt(threads, input, head.rows + chunk.begin * hidden, nullptr, logits, rows, chunk.count, hidden, false,
          gemm_scratch);
}

/// dh (+)= dlogits W over the chunk's columns.
void chunk_input_gradient(Executor& threads, const float* dlogits, HeadWeight head, int64_t rows,
                          int64_t hidden, Chunk chunk, float* dh, float* gemm_scratch) {
  if (head.backward.panels != nullptr)
    return gemm_packed(threads, dlogits, head.backward.from(0, chunk.begin), nullptr, dh, rows, hidden,
                       chunk.count, chunk.begin > 0, gemm_scratch);
  gemm_nn(threads, dlogits, head.rows + chunk.begin * hidden, dh, rows, chunk.count, hidden, chunk.begin > 0,
          gemm_scratch);
}

struct ForwardCall {
  const float* h;
  HeadWeight head;
  const int32_t* targets;
  const float* inv_temperature;
  int64_t hidden, vocab;
  float* logp;
  float* entropy;
  float* lse;
};

void forward_rows(const ForwardCall& call, int64_t first, int64_t rows, float* logits, float* gemm_scratch) {
  InlineExecutor inline_threads;
  SoftmaxSums sums[kForwardRows];
  float target_logit[kForwardRows];
  std::fill_n(sums, rows, no_logits());
  const Precision precision = call.head.forward.precision;
  const float* input =
      head_input(inline_threads, call.h + first * call.hidden, precision, rows, call.hidden, gemm_scratch);
  gemm_scratch += rounded_floats(precision, rows, call.hidden);
  for (int64_t begin = 0; begin < call.vocab; begin += kVocabChunk) {
    const Chunk chunk = chunk_at(begin, call.vocab);
    chunk_logits(inline_threads, input, call.head, rows, call.hidden, chunk, logits, gemm_scratch);
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = logits + r * chunk.count;
      add_chunk(sums[r], row, chunk.count, call.inv_temperature[first + r], call.entropy != nullptr);
      const int64_t target = call.targets[first + r] - begin;
      if (target >= 0 && target < chunk.count) target_logit[r] = row[target];
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t i = first + r;
    call.lse[i] = log_sum_exp(sums[r]);
    call.logp[i] = row_logprob(target_logit[r], call.inv_temperature[i], call.lse[i]);
    if (call.entropy != nullptr) call.entropy[i] = entropy_of(sums[r]);
  }
}

size_t forward_task_floats(int64_t hidden, Precision precision) {
  return static_cast<size_t>(kForwardRows * kVocabChunk + rounded_floats(precision, kForwardRows, hidden)) +
         gemm_scratch_floats(1);
}

}  // namespace

size_t vocab_scratch_floats(int threads, int64_t num_rows, int64_t hidden, Precision precision) {
  const size_t forward = static_cast<size_t>(threads) * forward_task_floats(hidden, precision);
  const int64_t rows = std::min(num_rows, kBackwardRows);
  const auto narrow = static_cast<size_t>(rounded_floats(precision, rows, kVocabChunk));
  const size_t backward = static_cast<size_t>(rows * kVocabChunk + rounded_floats(precision, rows, hidden)) +
                          std::max(narrow, gemm_tn_scratch_floats(threads));
  return std::max(forward, backward);
}

void vocab_logprob_forward(Executor& threads, const float* h, HeadWeight head, const int32_t* targets,
                           const float* inv_temperature, int64_t num_rows, int64_t hidden, int64_t vocab,
                           float* logp, float* entropy, float* lse, float* scratch) {
  use_cpu_target();
  const ForwardCall call{h, head, targets, inv_temperature, hidden, vocab, logp, entropy, lse};
  const int64_t blocks = (num_rows + kForwardRows - 1) / kForwardRows;
  const auto tasks =
      static_cast<int>(std::max(blocks, std::min<int64_t>(threads.threads(), (num_rows + 7) / 8)));
  for_each_slot(threads, tasks, [&](int slot, int task) {
    float* logits = scratch + static_cast<size_t>(slot) * forward_task_floats(hidden, head.forward.precision);
    const Range mine = part_of(num_rows, 8, tasks, task);
    forward_rows(call, mine.begin, mine.end - mine.begin, logits, logits + kForwardRows * kVocabChunk);
  });
}

void vocab_logprob_backward(Executor& threads, const float* h, HeadWeight head, const int32_t* targets,
                            const float* inv_temperature, const float* entropy, const float* lse,
                            const float* d_logp, const float* d_entropy, int64_t num_rows, int64_t hidden,
                            int64_t vocab, float* dh, float* d_head, float* scratch) {
  use_cpu_target();
  for (int64_t first = 0; first < num_rows; first += kBackwardRows) {
    const int64_t rows = std::min(kBackwardRows, num_rows - first);
    float* logits = scratch;
    float* gemm_scratch = scratch + rows * kVocabChunk;
    const float* h_rows = h + first * hidden;
    const Precision precision = head.forward.precision;
    const float* input = head_input(threads, h_rows, precision, rows, hidden, gemm_scratch);
    gemm_scratch += rounded_floats(precision, rows, hidden);
    for (int64_t begin = 0; begin < vocab; begin += kVocabChunk) {
      const Chunk chunk = chunk_at(begin, vocab);
      chunk_logits(threads, input, head, rows, hidden, chunk, logits, gemm_scratch);
      for_ranges(threads, rows, 1, 4, [&](int64_t from, int64_t to) {
        for (int64_t r = from; r < to; ++r) {
          const int64_t i = first + r;
          logits_to_gradient(logits + r * chunk.count, chunk.count,
                             LogitGradient{.inv_temperature = inv_temperature[i],
                                           .lse = lse[i],
                                           .d_logp = d_logp[i],
                                           .d_entropy = d_entropy == nullptr ? 0.0F : d_entropy[i],
                                           .entropy = d_entropy == nullptr ? 0.0F : entropy[i],
                                           .target = targets[i] - begin});
        }
      });
      chunk_input_gradient(threads, logits, head, rows, hidden, chunk, dh + first * hidden, gemm_scratch);
      if (d_head != nullptr) {
        gemm_tn(threads, precision, logits, h_rows, d_head + begin * hidden, rows, chunk.count, hidden, true,
                gemm_scratch);
      }
    }
  }
}

float row_log_sum_exp(const float* logits, int64_t vocab, float inv_temperature) {
  use_cpu_target();
  SoftmaxSums sums = no_logits();
  for (int64_t begin = 0; begin < vocab; begin += kVocabChunk) {
    add_chunk(sums, logits + begin, chunk_at(begin, vocab).count, inv_temperature, false);
  }
  return log_sum_exp(sums);
}

}  // namespace verlc::kernels
