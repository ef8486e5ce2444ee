#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include "core/base/thread_pool.hpp"

using namespace verlc;

TEST_CASE("every index runs exactly once, job after job") {
  ThreadPool pool(4);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::atomic<int>> hits(static_cast<size_t>(round % 17));
    pool.for_each(round % 17, [&](int i) { hits[static_cast<size_t>(i)].fetch_add(1); });
    for (const std::atomic<int>& hit : hits) REQUIRE(hit.load() == 1);
  }
}

TEST_CASE("sleeping workers wake up") {
  ThreadPool pool(3);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic<int> sum{0};
    pool.for_each(10, [&](int i) { sum += i; });
    REQUIRE(sum.load() == 45);
  }
}

TEST_CASE("callers from several threads take turns") {
  ThreadPool pool(2);
  std::atomic<int> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 3; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) pool.for_each(5, [&](int) { sum += 1; });
    });
  for (std::thread& caller : callers) caller.join();
  REQUIRE(sum.load() == 3 * 200 * 5);
}

TEST_CASE("jobs follow each other without waiting for workers that have nothing to do") {
  ThreadPool pool(4);
  std::atomic<int64_t> sum{0};
  for (int64_t round = 0; round < 50000; ++round)
    pool.for_each(2, [&](int i) { sum.fetch_add(i + round, std::memory_order_relaxed); });
  REQUIRE(sum.load() == 50000 + 2 * (int64_t{50000} * 49999 / 2));
}
