#include <catch2/catch.hpp>
#include <csignal>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/thread_pool.hpp"
#include "core/base/weights_digest.hpp"
#include "core/memory/host_allocator.hpp"
#include "host/host_services.hpp"
#include "verlc/plugin.hpp"

namespace verlc {
namespace {

struct Services {
  CachingAllocator allocator{1 << 20};
  ThreadPool pool{2};
  std::vector<std::string> lines;
  LogService log{LogLevel::info, 3, [this](LogLevel, std::string_view line) { lines.emplace_back(line); }};
  HostServices services{allocator, pool, log};
  plugin::Host host{services.table()};
};

TEST_CASE("a plugin's host has every service, and neutral ones where they are absent") {
  Services s;
  CHECK_NOTHROW(s.host.require_all());
  const plugin::Host none;
  CHECK_THROWS_AS(none.require_all(), plugin::Failure);
  none.log(3, "x", "y");
  none.put(0, 1);
  CHECK(none.num_threads() == 1);
  CHECK(none.group(nullptr).size() == 1);
}

TEST_CASE("log lines carry rank, level and component, and stay one line") {
  Services s;
  s.host.log(2, "fsdp", "two\nlines");
  s.host.log(0, "fsdp", "not enabled");
  REQUIRE(s.lines.size() == 1);
  CHECK(s.lines[0] == "[rank 3] warn fsdp: two lines");
}

TEST_CASE("memory comes with category and scope, and errors with the host's account") {
  Services s;
  {
    const plugin::MemoryScope scope = s.host.scope("attention");
    const plugin::MemoryBlock block = s.host.allocate(s.host.memory_category("own-kind"), 1000, 4096);
    CHECK(reinterpret_cast<uintptr_t>(block.data()) % 4096 == 0);
    CHECK(s.allocator.by_category().back().name == "own-kind");
    CHECK(s.allocator.by_scope().front().name == "attention");
    CHECK(s.allocator.used() == 1000);
    HostAllocator engine(s.host.memory());
    void* weights = engine.allocate(500, Category::param);
    CHECK(s.allocator.by_category()[0].now == 500);
    CHECK_THROWS_AS(engine.allocate(2 << 20, Category::grad), Error);
    engine.release(weights, 500, Category::param);
    s.host.memory()->account(s.host.memory()->self, 7, VERLC_DEVICE_CPU, 0, 64);
    s.host.memory()->account(s.host.memory()->self, 7, VERLC_DEVICE_CPU, 0, -64);
    CHECK(s.allocator.used() == 1000);
    CHECK_THROWS_WITH(s.host.allocate(0, 16, 3), "alignment 3 is not a power of two of at most 4096");
  }
  CHECK(s.allocator.used() == 0);
}

TEST_CASE("metrics reduce as declared and start anew after a drain") {
  Services s;
  for (const int32_t reduction : {0, 1, 2, 3, 4}) {
    const uint32_t id = s.host.metric(std::string(1, static_cast<char>('a' + reduction)), reduction);
    for (const double value : {2.0, -1.0, 5.0}) s.host.put(id, value);
  }
  const std::vector<MetricValue> values = s.services.metrics().drain();
  REQUIRE(values.size() == 5);
  const double wanted[] = {6, 2, -1, 5, 5};
  for (size_t i = 0; i < 5; ++i) CHECK(values[i].value() == wanted[i]);
  CHECK(s.services.metrics().drain().empty());
}

TEST_CASE("signals and deadlines cancel") {
  Services s;
  CancelService& cancel = s.services.cancel();
  cancel.reset();
  CHECK_FALSE(s.host.cancelled(0));
  cancel.install_handlers();
  std::raise(SIGTERM);
  CHECK(s.host.cancelled(0));
  CHECK_THROWS_AS(s.host.stop_if_cancelled(0), plugin::Failure);
  CHECK_FALSE(s.host.cancelled(kStepScope));  // a step is never cut
  cancel.reset();
  cancel.set_deadline(std::chrono::steady_clock::now() - std::chrono::seconds(1));
  CHECK(s.host.cancelled(0));
  cancel.reset();
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) std::signal(signal, SIG_DFL);
}

TEST_CASE("the team runs every index once") {
  Services s;
  std::vector<int> hits(1000);
  s.host.parallel(1000, [&](int32_t i) { ++hits[static_cast<size_t>(i)]; });
  CHECK(s.host.num_threads() == 2);
  CHECK(hits == std::vector<int>(1000, 1));
}

TEST_CASE("guard turns every exception into a status") {
  auto error = plugin::make_struct<verlc_error>();
  CHECK(plugin::guard(&error, [] { throw plugin::Failure(VERLC_E_STATE, "asleep", VERLC_ERROR_DEAD); }) ==
        VERLC_E_STATE);
  CHECK(std::string(error.message) == "asleep");
  CHECK(error.kind == VERLC_ERROR_DEAD);
  CHECK(plugin::guard(&error, [] { throw std::bad_alloc(); }) == VERLC_E_MEMORY_HOST);
  CHECK(plugin::guard(&error, [] { throw 3; }) == VERLC_E_INTERNAL);
  CHECK(plugin::guard(nullptr, [] { throw std::runtime_error(std::string(5000, 'x')); }) == VERLC_E_INTERNAL);
  CHECK(plugin::guard(&error, [] { return VERLC_END; }) == VERLC_END);
}

TEST_CASE("the weights digest does not depend on order, and on everything else") {
  const float values[] = {1, 2, 3, 4};
  const int64_t square[] = {2, 2};
  const int64_t flat[] = {4};
  const auto digest = [&](const char* first, const char* second, std::span<const int64_t> shape,
                          const char* dtype) {
    WeightsDigest weights;
    weights.add(first, dtype, shape, values, sizeof values);
    weights.add(second, dtype, shape, values, sizeof values);
    return weights.hex();
  };
  const std::string base = digest("a", "b", square, "f32");
  CHECK(base.size() == 32);
  CHECK(digest("b", "a", square, "f32") == base);
  CHECK(digest("a", "c", square, "f32") != base);
  CHECK(digest("a", "b", flat, "f32") != base);
  CHECK(digest("a", "b", square, "i32") != base);
  WeightsDigest twice;
  twice.add("a", "f32", flat, values, sizeof values);
  CHECK_THROWS_AS(twice.add("a", "f32", flat, values, sizeof values), Error);
}

}  // namespace
}  // namespace verlc
