// An order of the samples of an optimizer step in which micro-batches, cut one after another at a token
// budget, are as few as can be found and of even size. Pure and deterministic.
//
// What is counted are the tokens that a pass computes. With a shared prompt those are the prompt once and the
// rest of each of its samples, as long as these stand side by side; so a prompt's samples stay together
// unless they exceed the budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace verlc::pipeline {

/// Computed tokens of a sequence: `shared` leading ones in common with its neighbours of the same `group`.
struct SequenceSize {
  uint64_t group = 0;
  int64_t shared = 0;  ///< 0 = nothing is shared
  int64_t length = 0;  ///< all of them, `shared` included
};

/// What an engine that keeps the order makes of a budget: runs of sequences, each run of at most
/// `max_tokens`; a group that fits a micro-batch of its own is not cut, a longer sequence is alone.
struct MicroRuns {
  size_t count = 0;
  int64_t largest = 0;  ///< tokens of the largest run
};
MicroRuns cut_runs(std::span<const SequenceSize> sequences, int64_t max_tokens);

/// Indices of the sequences in the order to pack them in. At least `min_runs` micro-batches are aimed at (as
/// many as another rank needs: ranks go from one micro-batch to the next together). max_tokens > 0.
std::vector<size_t> micro_order(std::span<const SequenceSize> sequences, int64_t max_tokens, size_t min_runs);

/// The smallest budget, not above `max_tokens`, that gives no more micro-batches than the larger of
/// `max_tokens`' count and `min_runs`: the even one for a given order. max_tokens > 0.
int64_t even_budget(std::span<const SequenceSize> sequences, int64_t max_tokens, size_t min_runs);

}  // namespace verlc::pipeline
