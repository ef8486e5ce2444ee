#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/memory/caching_allocator.hpp"
#include "dist/comm/collective_checks.hpp"
#include "host/comm/process_group.hpp"
#include "host/comm/transports.hpp"

namespace verlc {
namespace {

using RankBody = std::function<std::string(ProcessGroup& group)>;

// Runs `body` on every rank in its own thread; returns each rank's result or error text.
std::vector<std::string> on_ranks(int num_ranks, const RankBody& body, GroupOptions options = {}) {
  std::vector<std::unique_ptr<Transport>> ends = make_thread_transports(num_ranks);
  std::vector<std::string> results(static_cast<size_t>(num_ranks));
  std::vector<std::thread> threads;
  for (size_t r = 0; r < ends.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        ProcessGroup group(std::move(ends[r]), options);
        results[r] = body(group);
      } catch (const Error& error) {
        results[r] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void random_delay(int rank, uint64_t turn) {
  RandomStream stream(3, Purpose::test, turn, static_cast<uint64_t>(rank));
  if (stream.below(8) == 0) std::this_thread::sleep_for(std::chrono::microseconds(stream.below(200)));
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("collectives equal a plain loop in rank order, bit for bit, whoever arrives first") {
  const int num_ranks = GENERATE(1, 2, 3, 4);
  CachingAllocator allocator;
  GroupOptions options;
  options.allocator = &allocator;
  const auto results = on_ranks(
      num_ranks, [](ProcessGroup& group) { return joined(test::check_collectives(group, random_delay)); },
      options);
  for (const std::string& result : results) CHECK(result == "");
  CHECK(allocator.used() == 0);
  CHECK((allocator.peak() > 0) == (num_ranks > 1));
}

TEST_CASE("a maximum with a NaN is NaN on every rank") {
  const auto results = on_ranks(3, [](ProcessGroup& group) {
    float value = group.rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
    group.all_reduce(std::span<float>(&value, 1), ReduceOp::max);
    return std::string(std::isnan(value) ? "nan" : "number");
  });
  for (const std::string& result : results) CHECK(result == "nan");
}

// Some rank must tell; the others may be stuck behind it until the limit, which the test keeps short.
GroupOptions short_limit() {
  GroupOptions options;
  options.time_limit = std::chrono::milliseconds(300);
  return options;
}

TEST_CASE("ranks that differ are told the first difference") {
  SECTION("count") {
    const auto results = on_ranks(
        2,
        [](ProcessGroup& group) {
          std::vector<float> data(group.rank() == 0 ? 10 : 12);
          group.all_reduce(std::span<float>(data));
          return std::string();
        },
        short_limit());
    CHECK(
        contains(results[0], "rank 0 does all_reduce(sum) of 10 f32, rank 1 does all_reduce(sum) of 12 f32"));
    CHECK(contains(results[0], "group world, operation #0"));
  }
  SECTION("operation") {
    const auto results = on_ranks(
        2,
        [](ProcessGroup& group) {
          std::vector<float> data(4000);
          if (group.rank() == 0) group.barrier();
          group.all_reduce(std::span<float>(data));
          return std::string();
        },
        short_limit());
    CHECK(contains(results[0], "rank 0 does barrier, rank 1 does all_reduce(sum) of 4000 f32"));
  }
  SECTION("bytes of an all_to_all") {
    const auto results = on_ranks(
        2,
        [](ProcessGroup& group) {
          std::vector<int32_t> data(8);
          const std::vector<int64_t> send = {4, 4};
          const std::vector<int64_t> receive = {4, group.rank() == 0 ? 3 : 4};
          const std::vector<int64_t> own = group.rank() == 0 ? send : std::vector<int64_t>{4, 4};
          std::vector<int32_t> out(static_cast<size_t>(receive[0] + receive[1]));
          group.wait(group.start_all_to_all(comm_buffer(std::span<int32_t>(data)), own,
                                            comm_buffer(std::span<int32_t>(out)), receive));
          return std::string();
        },
        short_limit());
    CHECK(contains(results[0], "rank 1 sends 16 bytes to rank 0, which expects 12"));
  }
  SECTION("type and reduction") {
    const auto results = on_ranks(
        2,
        [](ProcessGroup& group) {
          double value = 0;
          static_cast<void>(group.all_reduce_value(value, group.rank() == 0 ? ReduceOp::sum : ReduceOp::max));
          return std::string();
        },
        short_limit());
    CHECK(contains(results[1], "rank 1 does all_reduce(max) of 1 f64, rank 0 does all_reduce(sum) of 1 f64"));
  }
}

TEST_CASE("a late rank is named with phase, operation and what went before") {
  const auto results = on_ranks(
      3,
      [](ProcessGroup& group) {
        group.set_phase("update actor");
        group.barrier();
        std::vector<float> data(100);
        if (group.rank() != 2) group.all_reduce(std::span<float>(data));
        return std::string();
      },
      short_limit());
  CHECK(contains(results[0], "rank 0, group world, operation #1"));
  CHECK(contains(results[0], "all_reduce(sum) of 100 f32 was not done after"));
  CHECK(contains(results[0], "phase update actor"));
  CHECK(contains(results[0], "nothing came from ranks 2"));
  CHECK(contains(results[0], "#0 world barrier 0 bytes, phase update actor: done in"));
  CHECK(contains(results[0], "#1 world all_reduce 400 bytes, phase update actor: waiting for"));
  CHECK(results[2].empty());
}

TEST_CASE("after a failure the group stays broken, and an abort reaches the others") {
  const auto results = on_ranks(2, [](ProcessGroup& group) {
    if (group.rank() == 1) {
      group.abort(1, "disk full");
      return std::string();
    }
    try {
      group.barrier();
    } catch (const Error&) {
    }
    group.barrier();
    return std::string();
  });
  CHECK(contains(results[0], "communication broke earlier"));
  CHECK(contains(results[0], "rank 1 ended the job: disk full"));
}

TEST_CASE("wrong calls are refused before anything is sent") {
  const auto results = on_ranks(1, [](ProcessGroup& group) {
    std::vector<uint8_t> bytes(4);
    CommBuffer bf16{bytes.data(), 2, plugin::kBf16};
    try {
      group.wait(group.start_all_reduce(bf16, bf16, ReduceOp::sum));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  });
  CHECK(contains(results[0], "cannot reduce elements of type bf16"));
}

}  // namespace
}  // namespace verlc
