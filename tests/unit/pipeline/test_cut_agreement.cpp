// The host plans micro-batches as the fsdp engine cuts them.
#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/rng.hpp"
#include "fsdp/micro_batches.hpp"
#include "pipeline/micro_order.hpp"

using namespace verlc;
using namespace verlc::pipeline;

TEST_CASE("runs of a budget are the engine's micro-batches") {
  RandomStream random(13, Purpose::test, 0, 0);
  for (int i = 0; i < 300; ++i) {
    const bool share = i % 2 == 0;
    std::vector<SequenceSize> sizes;
    std::vector<fsdp::Extent> extents;
    std::vector<int32_t> cu_seqlens = {0};
    const auto groups = static_cast<int32_t>(1 + random.below(10));
    for (int32_t g = 0; g < groups; ++g) {
      const auto shared = static_cast<int32_t>(1 + random.below(40));
      const uint64_t samples = 1 + random.below(6);
      for (uint64_t s = 0; s < samples; ++s) {
        const int32_t length = shared + static_cast<int32_t>(random.below(60));
        if (share) {
          sizes.push_back({static_cast<uint64_t>(g), shared, length});
          extents.push_back({g, shared, length});
        } else {
          sizes.push_back({sizes.size(), 0, length});
          extents.push_back({-1, 0, length});
        }
        cu_seqlens.push_back(cu_seqlens.back() + length + 1);
      }
    }
    const auto budget = static_cast<int64_t>(20 + random.below(400));
    const std::vector<fsdp::MicroBatch> batches =
        fsdp::cut(cu_seqlens, extents, 0, static_cast<uint64_t>(budget));
    int64_t largest = 0;
    for (const fsdp::MicroBatch& batch : batches) {
      int64_t tokens = 0;
      for (size_t s = batch.sequence_begin; s < batch.sequence_end; ++s) {
        const bool joins = s > batch.sequence_begin && sizes[s].group == sizes[s - 1].group;
        tokens += sizes[s].length - (joins ? sizes[s].shared : 0);
      }
      largest = std::max(largest, tokens);
    }
    INFO("case " << i << ", budget " << budget);
    const MicroRuns runs = cut_runs(sizes, budget);
    CHECK(runs.count == batches.size());
    CHECK(runs.largest == largest);
  }
}
