// The weights of a model over a group of ranks: shards at rest, whole units while they are in use.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/models/causal_forward.hpp"
#include "core/services/engine_services.hpp"
#include "fsdp/config.hpp"
#include "fsdp/flat_unit.hpp"
#include "fsdp/unit_panels.hpp"

namespace verlc::fsdp {

/// The groups that a sharding makes of the data-parallel ranks.
struct ShardGroups {
  plugin::Group shard;    ///< the ranks that together hold one copy; alone() = each rank holds all
  plugin::Group replica;  ///< the ranks that hold the same shard of different copies
};

/// Splits `dp` (collective). Throws Error(input) when fsdp_size does not divide the ranks.
ShardGroups make_groups(const Config& config, const plugin::Host& host, verlc_comm* dp);

/// Implements UnitSource: gathers a unit before use, sums its gradient into the shard after its backward.
/// Every rank of the shard group makes the same calls in the same order. One thread.
class ShardedUnits final : public UnitSource {
 public:
  ShardedUnits(const Config& config, Model& model, EngineServices& services, ShardGroups groups);
  ShardedUnits(const ShardedUnits&) = delete;
  ShardedUnits& operator=(const ShardedUnits&) = delete;
  ~ShardedUnits() override;

  void acquire(Tape& tape, size_t unit) override;
  void release(Tape& tape, size_t unit, bool backward_next) override;
  /// Waits for what is still being reduced. After the backward of the last micro-batch: the reduction of one
  /// overlaps with the forward of the next.
  void finish_backward();
  /// Sums the shards' gradients over the copies; once before an optimizer step.
  void reduce_over_replicas();
  /// The weights changed: drops what was gathered under the old ones.
  void weights_changed();
  void zero_grad();

  /// The whole unit, for export; gathered when need be (collective) and dropped by drop().
  Tensor whole(size_t unit);
  void drop(size_t unit);

  [[nodiscard]] size_t size() const { return units_.size(); }
  [[nodiscard]] const FlatUnit& flat(size_t unit) const { return units_[unit].flat; }
  /// This rank's part: float32 [shard_size]. grad, m and v are undefined for a model that is not trained.
  [[nodiscard]] const Tensor& param(size_t unit) const { return units_[unit].param; }
  [[nodiscard]] const Tensor& grad(size_t unit) const { return units_[unit].grad; }
  [[nodiscard]] const Tensor& first_moment(size_t unit) const { return units_[unit].m; }
  [[nodiscard]] const Tensor& second_moment(size_t unit) const { return units_[unit].v; }
  [[nodiscard]] plugin::Group& shard_group() { return groups_.shard; }
  [[nodiscard]] plugin::Group& replica_group() { return groups_.replica; }

 private:
  struct State {
    FlatUnit flat;
    Tensor param, grad, m, v;  // shards
    Tensor whole;              // gathered weights, while in use
    Tensor whole_grad;         // gradients of the whole unit, during its backward
    UnitPanels panels;         // as long as the whole weights; without sharding until they change
    plugin::PendingRequest gather;
    bool gathering = false;
  };
  struct Reduction {
    Tensor whole_grad, part;
    plugin::PendingRequest request;
    size_t unit = 0;
  };

  [[nodiscard]] bool sharded() const { return groups_.shard.size() > 1; }
  void start_gather(size_t unit);
  void ensure_whole(size_t unit);
  void prefetch_after(size_t unit, bool backward);
  void bind(size_t unit);
  void drop_panels(size_t unit);
  void begin_backward(size_t unit);
  void end_backward(size_t unit);
  void finish_reduction();

  Config config_;
  Model& model_;
  EngineServices& services_;
  ShardGroups groups_;
  bool keep_whole_;  // between forward and backward, and between micro-batches
  std::vector<State> units_;
  std::optional<Reduction> reduction_;
};

}  // namespace verlc::fsdp
