// A job in miniature: starts its own ranks and behaves as its first argument says.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/base/error.hpp"
#include "host/cancel_service.hpp"
#include "launch/launch.hpp"
#include "launch/rank_context.hpp"

namespace verlc {
namespace {

int behave(const std::string& mode, RankContext& context, CancelService& cancel) {
  if (mode == "fail" && context.rank == 1)
    fail_input({.what = "this rank fails", .where = "probe", .value = "1", .fix = "none"});
  if (mode == "kill" && context.rank == 1) ::kill(::getpid(), SIGKILL);
  if (mode == "fail" || mode == "kill") {
    context.world->barrier();  // would wait for ever
  }
  if (mode == "wait") {
    std::printf("waiting %d\n", context.rank);
    std::fflush(stdout);
    while (!cancel.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * (1 + context.rank)));  // the checkpoint
    std::printf("saved %d\n", context.rank);
    std::fflush(stdout);
    return 130;
  }
  const std::string hash = mode == "differ" && context.rank > 0 ? "b" : "a";
  const std::string line = preflight(context, "1.0", hash);
  if (context.rank == 0) std::printf("%s\n", line.c_str());
  const int sum = context.world->all_reduce_value(context.rank);
  if (context.rank == 0) std::printf("sum %d local %d of %d\n", sum, context.local_rank, context.local_size);
  return 0;
}

}  // namespace
}  // namespace verlc

int main(int argc, char** argv) {
  try {
    const std::string mode = argc > 1 ? argv[1] : "run";
    const int ranks = argc > 2 ? std::atoi(argv[2]) : 1;
    if (verlc::needs_launch(ranks)) {
      verlc::LaunchOptions options;
      options.ranks = ranks;
      options.oversubscribe = true;
      if (mode == "no-mpirun") options.mpirun = "mpirun-that-is-not-there";
      return verlc::launch_ranks(options, {argv, argv + argc});
    }
    verlc::CancelService cancel;
    cancel.install_handlers();
    verlc::JoinOptions join;
    join.expected_ranks = ranks;
    verlc::RankContext context = verlc::join_ranks(join);
    return verlc::run_rank(context, [&] { return verlc::behave(mode, context, cancel); });
  } catch (const verlc::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.kind());
  }
}
