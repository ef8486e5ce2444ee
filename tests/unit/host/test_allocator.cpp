#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/memory/arena.hpp"
#include "core/memory/block_cache.hpp"
#include "core/memory/caching_allocator.hpp"

namespace verlc {
namespace {

uint64_t sum_now(const std::vector<MemoryUsage>& usages) {
  return std::accumulate(usages.begin(), usages.end(), uint64_t{0},
                         [](uint64_t sum, const MemoryUsage& usage) { return sum + usage.now; });
}

struct Live {
  unsigned char* block;
  size_t bytes;
  uint32_t category;
  unsigned char mark;
};

// Allocates, checks and frees at random; every block holds its mark from end to end until it is freed.
void play(CachingAllocator& allocator, uint64_t seed, int events, std::vector<Live>& live) {
  RandomStream stream(seed, Purpose::test);
  for (int i = 0; i < events; ++i) {
    const bool push = stream.below(16) == 0;
    const Scope scope(allocator, push ? "deep" : "flat");
    if (live.empty() || stream.below(5) < 3) {
      const uint64_t bytes = 1 + (stream.next_u64() >> (44 + stream.below(20)));  // up to 1 MiB, mostly small
      const auto category = static_cast<uint32_t>(stream.below(kNumCategories));
      auto* block = static_cast<unsigned char*>(
          allocator.allocate_tagged(bytes, category, stream.below(8) == 0 ? 4096 : kBlockAlignment));
      const auto mark = static_cast<unsigned char>(stream.next_u32());
      block[0] = block[bytes / 2] = block[bytes - 1] = mark;
      live.push_back({block, bytes, category, mark});
    } else {
      const size_t pick = stream.below(live.size());
      const Live victim = live[pick];
      live[pick] = live.back();
      live.pop_back();
      if (victim.block[0] != victim.mark || victim.block[victim.bytes / 2] != victim.mark ||
          victim.block[victim.bytes - 1] != victim.mark)
        throw Error(ErrorKind::run, {.what = "blocks overlap", .where = {}, .value = {}, .fix = {}});
      allocator.release_tagged(victim.block, victim.bytes, victim.category);
    }
  }
}

TEST_CASE("100000 random events: books add up byte for byte, blocks never overlap") {
  CachingAllocator allocator;
  std::vector<std::vector<Live>> live(2);
  std::thread other([&] { play(allocator, 2, 50000, live[1]); });
  play(allocator, 1, 50000, live[0]);
  other.join();
  uint64_t bytes = 0;
  std::map<uint32_t, uint64_t> by_category;
  for (const std::vector<Live>& blocks : live) {
    for (const Live& block : blocks) {
      bytes += block.bytes;
      by_category[block.category] += block.bytes;
    }
  }
  CHECK(allocator.used() == bytes);
  CHECK(sum_now(allocator.by_category()) == bytes);
  CHECK(sum_now(allocator.by_scope()) == bytes);
  const std::vector<MemoryUsage> categories = allocator.by_category();
  for (const auto& [category, held] : by_category) CHECK(categories[category].now == held);
  CHECK(allocator.peak() >= bytes);
  for (const std::vector<Live>& blocks : live)
    for (const Live& block : blocks) allocator.release_tagged(block.block, block.bytes, block.category);
  CHECK(allocator.used() == 0);
}

TEST_CASE("size classes waste at most an eighth above 64 KiB and keep alignment") {
  for (size_t bytes = 1; bytes < (size_t{1} << 33); bytes += 1 + bytes / 3) {
    const size_t size = class_size(bytes);
    CHECK(size >= bytes);
    CHECK(class_size(size) == size);
    CHECK(size % 64 == 0);
    if (bytes >= kLargeBlock) CHECK(size < bytes + Arena::kGranule);
  }
  CHECK(class_size(~size_t{0}) == 0);
}

TEST_CASE("a step that repeats its sizes touches no new page") {
  CachingAllocator allocator;
  const size_t sizes[] = {100, 5000, 70000, size_t{3} << 20, size_t{40} << 20};
  const auto step = [&] {
    std::vector<void*> blocks;
    for (const size_t size : sizes) {
      blocks.push_back(allocator.allocate(size, Category::activation));
      std::memset(blocks.back(), 1, size);
    }
    for (size_t i = 0; i < blocks.size(); ++i) allocator.release(blocks[i], sizes[i], Category::activation);
  };
  step();
  rusage before{};
  ::getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 20; ++i) step();
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &after);
  CHECK(after.ru_minflt - before.ru_minflt < 100);  // 20 x 44 MB would be over 200000 without the cache
  CHECK(allocator.cached() > 0);
  allocator.trim();
  CHECK(allocator.cached() < kLargeBlock);
}

TEST_CASE("steps of ever other sizes under one peak reuse the same pages") {
  CachingAllocator allocator;
  RandomStream stream(7, Purpose::test);
  const auto step = [&] {
    std::vector<std::pair<void*, size_t>> blocks;
    for (int i = 0; i < 12; ++i) {
      const size_t size = (size_t{2} << 20) + stream.below(uint64_t{6} << 20);
      blocks.emplace_back(allocator.allocate(size, Category::activation), size);
      std::memset(blocks.back().first, 1, size);
    }
    for (const auto& [block, size] : blocks) allocator.release(block, size, Category::activation);
  };
  for (int i = 0; i < 30; ++i) step();
  rusage before{};
  ::getrusage(RUSAGE_THREAD, &before);
  for (int i = 0; i < 100; ++i) step();
  rusage after{};
  ::getrusage(RUSAGE_THREAD, &after);
  CHECK(after.ru_minflt - before.ru_minflt < 5000);  // 100 steps of 60 MB are 1.5 million pages
}

TEST_CASE("free ranges join, split and are taken by best fit") {
  FreeRanges ranges;
  ranges.add({1000, 100});
  ranges.add({1200, 50});
  ranges.add({1100, 100});  // closes the gap
  CHECK(ranges.bytes() == 250);
  ranges.add({5000, 60});
  CHECK(ranges.take(60)->begin == 5000);
  CHECK_FALSE(ranges.take(251));
  CHECK(ranges.take(40)->begin == 1000);
  CHECK(ranges.take_ending_at(1250)->begin == 1040);
  CHECK_FALSE(ranges.take_ending_at(1250));
  CHECK(ranges.bytes() == 0);
  ranges.add({10, 5});
  ranges.add({20, 7});
  CHECK(ranges.take_largest()->begin == 20);
}

TEST_CASE("the cache of large blocks is bounded by the peak") {
  CachingAllocator allocator;
  for (size_t i = 1; i <= 60; ++i) {
    const size_t bytes = i * (size_t{3} << 20);
    allocator.release(allocator.allocate(bytes, Category::work), bytes, Category::work);
  }
  CHECK(allocator.cached() <= allocator.peak() * 5 / 4 + (size_t{72} << 20));
}

TEST_CASE("a request beyond the limit names itself and the largest owners, and changes nothing") {
  CachingAllocator allocator(1000);
  void* held = nullptr;
  {
    const Scope outer(allocator, "update");
    const Scope inner(allocator, "layer.3");
    held = allocator.allocate(900, Category::grad);
  }
  std::string text;
  try {
    allocator.allocate(101, Category::logits);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fit);
    text = error.what();
  }
  CHECK(text.find("no room for 101 bytes of category logits") != std::string::npos);
  CHECK(text.find("900 bytes used of the limit 1000 bytes") != std::string::npos);
  CHECK(text.find("categories grad 900 bytes; scopes update/layer.3 900 bytes") != std::string::npos);
  CHECK(allocator.used() == 900);
  allocator.release(allocator.allocate(100, Category::logits), 100, Category::logits);
  allocator.release(held, 900, Category::grad);
}

}  // namespace
}  // namespace verlc
