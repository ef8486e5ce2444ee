// The tokens that a pass computes for a micro-batch: those that a group shares only once, and none that no
// log-prob depends on.
#pragma once

#include <vector>

#include "core/models/causal_forward.hpp"
#include "core/ops/attention.hpp"
#include "fsdp/engine.hpp"
#include "fsdp/micro_batches.hpp"

namespace verlc::fsdp {

/// [S]: whole sequences, or, where the batch tells of shared prefixes, groups of neighbours and lengths up to
/// the last token that a log-prob depends on.
std::vector<Extent> extents_of(const Batch& batch);

/// C computed tokens in segments, and where the log-probs of the micro-batch come from.
struct CompactTokens {
  std::vector<int32_t> tokens, positions;  ///< [C]
  PackedSegments segments;  ///< a group's shared tokens, then of each of its sequences the others
  LogprobRows rows;         ///< `rows` index the C tokens, `tokens` those of the micro-batch
};

/// extents: [S] of the batch.
CompactTokens compact(const Batch& batch, std::span<const Extent> extents, const MicroBatch& part);

}  // namespace verlc::fsdp
