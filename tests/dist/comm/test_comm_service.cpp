// The comm service as an engine sees it: through the C table and plugin::Group, on two ranks.
#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "host/comm/transports.hpp"
#include "host/comm_service.hpp"
#include "verlc/plugin.hpp"

namespace verlc {
namespace {

using Floats = std::vector<float>;

// What one rank of two does; returns the first thing that is wrong.
std::string use_group(plugin::Group& group) {
  const auto rank = static_cast<float>(group.rank());
  Floats values = {1 + rank, 2};
  group.all_reduce(std::span<const float>(values), std::span<float>(values));
  if (values != Floats{3, 4}) return "all_reduce";

  Floats part(1);
  const Floats both = {10 + rank, 20 + rank};
  auto scatter = group.start_reduce_scatter(std::span<const float>(both), std::span<float>(part));
  Floats gathered(2);
  auto gather = group.start_all_gather(std::span<const float>(&rank, 1), std::span<float>(gathered));
  gather.wait();
  scatter.wait();
  if (part != Floats{group.rank() == 0 ? 21.0f : 41.0f}) return "reduce_scatter";
  if (gathered != Floats{0, 1}) return "all_gather";

  const std::vector<int64_t> send = {0, group.rank() == 0 ? 2 : 0};
  const std::vector<int64_t> receive = {group.rank() == 0 ? 0 : 2, 0};
  Floats inbox(group.rank() == 0 ? 0 : 2);
  const Floats outbox = group.rank() == 0 ? Floats{5, 6} : Floats{};
  group.start_all_to_all(std::span<const float>(outbox), send, std::span<float>(inbox), receive).wait();
  if (group.rank() == 1 && inbox != Floats{5, 6}) return "all_to_all";

  Floats message = {rank};
  if (group.rank() == 0) {
    group.start_send(std::span<const float>(both), 1, 3).wait();
  } else {
    Floats got(2);
    group.start_receive(std::span<float>(got), 0, 3).wait();
    if (got != Floats{10, 20}) return "send and receive";
  }
  group.broadcast(std::span<float>(message), 1);
  if (message != Floats{1}) return "broadcast";
  group.all_reduce(std::span<const float>(), std::span<float>());
  plugin::Group alone = group.split(group.rank(), 0);
  if (alone.size() != 1) return "split";
  alone.barrier();
  group.barrier();
  try {
    group.broadcast(std::span<float>(message), 9);
  } catch (const plugin::Failure& failure) {
    return failure.status() == VERLC_E_COMM ? "" : "status of a wrong root";
  }
  return "a wrong root was accepted";
}

TEST_CASE("an engine's group does every collective, also without elements") {
  auto ends = make_thread_transports(2);
  std::vector<std::string> results(2);
  std::vector<std::thread> ranks;
  for (size_t r = 0; r < 2; ++r) {
    ranks.emplace_back([&, r] {
      CommService service;
      ProcessGroup world(std::move(ends[r]));
      plugin::Group group(service.table(), service.handle(world));
      results[r] = use_group(group);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  CHECK(results[0] == "");
  CHECK(results[1] == "");
}

}  // namespace
}  // namespace verlc
