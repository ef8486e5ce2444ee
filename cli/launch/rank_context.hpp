// What a rank knows about the job it is part of.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/memory/allocator.hpp"
#include "host/comm/process_group.hpp"

namespace verlc {

struct RankContext {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of this host
  int local_size = 1;
  std::string host;
  int threads = 1;        ///< this rank's share of the host's usable threads, >= 1
  bool terminal = false;  ///< rank 0's output ends at a terminal (also when a launcher stands between)
  std::unique_ptr<ProcessGroup> world;
};

struct JoinOptions {
  int expected_ranks = 0;          ///< from the recipe or --ranks; 0 = any. Another number is an Error(input)
  int threads_per_rank = 0;        ///< 0 = the host's usable threads / ranks on the host
  Allocator* allocator = nullptr;  ///< for the group's own buffers
};

/// True in a process that a launcher (ours, mpirun, srun) started as one of several ranks.
bool inside_launcher();

/// Joins the job that the environment names (MPI), or makes a job of one rank, which touches no MPI. Throws
/// Error(run) or Error(input). After it, the death of the launcher ends this process.
RankContext join_ranks(const JoinOptions& options = {});

/// Compares what must be equal on all ranks: version, recipe hash. Collective. Throws Error(input) naming the
/// ranks that differ. Returns the line to print: "2 ranks on 1 host, 1 thread each, verlc 0.1.0, recipe
/// 3f2a...".
std::string preflight(RankContext& context, const std::string& version, const std::string& recipe_hash);

/// Runs a rank's body and returns its exit code. An Error is reported once as one line "rank 1: ..." (without
/// "rank 1: " in a job of one), then the job is ended for all ranks. The body's own code (0, 130) is returned
/// as is.
int run_rank(RankContext& context, const std::function<int()>& body);

}  // namespace verlc
