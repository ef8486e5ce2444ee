// Training state on disk: one safetensors file per rank and part, readable by any number of ranks.
#pragma once

#include <filesystem>

#include "fsdp/sharded_units.hpp"

namespace verlc::fsdp {

/// What is saved beside the arrays.
struct OptimizerState {
  int64_t step = 0;  ///< updates done
};

/// Writes this rank's shards below the existing folder `dir`:
/// model_world_size_W_rank_R.safetensors (PARAM) and optim_world_size_W_rank_R.safetensors (OPTIMIZER), W and
/// R of the shard group; only the first copy of a replicated model writes. Tensors are named by unit
/// ("layers.3", and "layers.3.m", "layers.3.v"); the metadata has their first flat element. Throws
/// Error(run).
void save_shards(const std::filesystem::path& dir, uint32_t parts, const Model& model, ShardedUnits& units,
                 const OptimizerState& optimizer);

/// Fills this rank's shards from a save of any number of ranks. Throws Error(input) naming a missing file or
/// unit.
void load_shards(const std::filesystem::path& dir, uint32_t parts, const Model& model, ShardedUnits& units,
                 OptimizerState& optimizer);

/// Fills the weights from a Hugging Face folder, or at random from its config.json, or not at all.
void load_initial_weights(const Config& config, const Model& model, ShardedUnits& units,
                          EngineServices& services);

}  // namespace verlc::fsdp
