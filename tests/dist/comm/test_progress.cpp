// Collectives go on while an engine computes: each run of the thread team makes progress on them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <thread>
#include <vector>

#include "core/base/thread_pool.hpp"
#include "core/memory/caching_allocator.hpp"
#include "host/comm/transports.hpp"
#include "host/host_services.hpp"
#include "verlc/plugin.hpp"

using namespace verlc;

namespace {

// Starts an all-gather and a sum, computes, and says after how many runs of the team both results were there
// without a wait; `limit` = never.
int runs_until_there(std::unique_ptr<Transport> transport, int limit) {
  constexpr size_t kCount = 100'000;  // more than travels beside a header
  CachingAllocator allocator;
  ThreadPool pool(1);
  LogService log(LogLevel::warn);
  HostServices services(allocator, pool, log);
  ProcessGroup world(std::move(transport), GroupOptions{"world", std::chrono::seconds(60), nullptr});
  const plugin::Host host(services.table());
  plugin::Group group = host.group(services.comm().handle(world));
  const std::vector<float> own(kCount, static_cast<float>(world.rank() + 1)), pair(2 * kCount, 1.0f);
  std::vector<float> whole(2 * kCount, 0.0f), part(kCount, 0.0f);
  plugin::PendingRequest gather =
      group.start_all_gather(std::span<const float>(own), std::span<float>(whole));
  plugin::PendingRequest sum =
      group.start_reduce_scatter(std::span<const float>(pair), std::span<float>(part));
  int runs = 0;
  const auto there = [&] {
    return whole.front() == 1.0f && whole.back() == 2.0f && part.front() == 2.0f && part.back() == 2.0f;
  };
  while (!there() && runs < limit) {
    host.parallel(1, [](int32_t) { std::this_thread::yield(); });
    ++runs;
  }
  gather.wait();
  sum.wait();
  // The other rank may still need this one.
  world.barrier();
  return std::count(part.begin(), part.end(), 2.0f) == static_cast<std::ptrdiff_t>(kCount) ? runs : limit;
}

}  // namespace

TEST_CASE("what was started goes on while the engine computes") {
  constexpr int kLimit = 20'000'000;
  auto ends = make_thread_transports(2);
  std::vector<int> runs(2, kLimit);
  std::vector<std::thread> ranks;
  for (size_t r = 0; r < 2; ++r)
    ranks.emplace_back([&, r] { runs[r] = runs_until_there(std::move(ends[r]), kLimit); });
  for (std::thread& rank : ranks) rank.join();
  for (const int count : runs) {
    CHECK(count > 0);
    CHECK(count < kLimit);
  }
}
