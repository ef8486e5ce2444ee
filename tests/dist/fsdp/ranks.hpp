// Training engines on ranks that are threads of this process, and what one can see of their state.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/thread_pool.hpp"
#include "core/memory/caching_allocator.hpp"
#include "fsdp/engine.hpp"
#include "host/comm/process_group.hpp"
#include "host/host_services.hpp"

namespace verlc::fsdp::test {

/// A folder that is removed at the end.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Folder of a golden model.
std::filesystem::path golden(const std::string& name);

/// Sequences end to end, with the arrays that a Batch borrows.
struct Sequences {
  std::vector<int32_t> tokens, positions, cu_seqlens = {0};
  std::vector<uint8_t> mask;
  std::vector<float> temperature;
  std::vector<int32_t> shared_prefix;  ///< [S, 2], or empty = nothing is shared

  /// All tokens but the first are in the mask.
  void add(const std::vector<int32_t>& sequence, float t = 1.0f);
  [[nodiscard]] size_t count() const { return cu_seqlens.size() - 1; }
  /// The sequences [first, last).
  [[nodiscard]] Sequences part(size_t first, size_t last) const;
  [[nodiscard]] double loss_tokens() const;
  [[nodiscard]] Batch batch(uint64_t max_sequences = 0, uint64_t max_tokens = 0) const;
};

/// `count` sequences of 2 to `longest` tokens from a fixed stream.
Sequences random_sequences(size_t count, int32_t vocab, size_t longest, uint64_t seed);

/// One rank: services, engine.
class Rank {
 public:
  Rank(std::unique_ptr<Transport> transport, const Config& config);
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] int rank() const { return world_->rank(); }
  [[nodiscard]] int size() const { return world_->size(); }
  [[nodiscard]] ProcessGroup& world() { return *world_; }
  Engine& engine() { return *engine_; }
  /// This rank's equal part of `all`.
  [[nodiscard]] Sequences own(const Sequences& all) const;

  std::vector<float> logp(const Batch& batch);
  /// Adds the gradient of sum over loss tokens of -logp / `tokens`. Returns this rank's loss; `calls` counts
  /// the micro-batches.
  double sft_backward(const Batch& batch, double tokens, size_t* calls = nullptr);
  verlc_optimizer_step step(double lr, double clip_grad = 1.0);

 private:
  CachingAllocator allocator_;
  ThreadPool pool_{1};
  LogService log_{LogLevel::warn};
  HostServices services_{allocator_, pool_, log_};
  std::unique_ptr<ProcessGroup> world_;
  std::unique_ptr<Engine> engine_;
};

/// Runs body on `count` ranks. The first exception of a rank ends all and is thrown here. Catch2 assertions
/// belong outside of the body.
void on_ranks(int count, const Config& config, const std::function<void(Rank&)>& body);

using Arrays = std::map<std::string, std::vector<float>>;

/// All ranks' saved arrays joined: "layers.0" (weights), "layers.0.m", "layers.0.v" in flat order.
Arrays read_save(const std::filesystem::path& folder);
/// The weights by Hugging Face name, whole (collective).
Arrays export_all(Engine& engine, uint64_t bucket_bytes = 1 << 12);
/// The digest of the exported weights (collective).
std::string export_digest(Engine& engine);

/// Largest difference relative to the largest value of the array; infinity when the names differ.
double relative_gap(const Arrays& a, const Arrays& b);

}  // namespace verlc::fsdp::test
