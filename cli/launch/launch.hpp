// Starting the ranks of a job under mpirun, and telling how they ended.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace verlc {

struct LaunchOptions {
  int ranks = 1;
  bool oversubscribe = false;  ///< more ranks than cores on purpose; switched on by itself when it is needed
  std::string hostfile;        ///< empty = this host only
  std::string mpirun = "mpirun";   ///< name or path
  std::vector<std::string> extra;  ///< more arguments of mpirun
};

/// True when this process must call launch_ranks(): more than one rank wanted and not already one of them.
bool needs_launch(int ranks);

/// Runs this program again as `options.ranks` ranks with the given arguments (argv[0] is replaced by this
/// program's own path) and waits. SIGINT and SIGTERM are passed to the ranks, which checkpoint and leave with
/// 130; a second one ends the job at once. Returns the job's exit code: 0, 1, 2, 3 or 130. A rank that was
/// killed is reported as "rank 1 was killed by signal 9 (Killed)", with the kernel's out-of-memory count when
/// that grew, and gives 1. No process of the job outlives this call, nor this process. Throws Error(input)
/// when mpirun isn't there.
int launch_ranks(const LaunchOptions& options, const std::vector<std::string>& argv);

}  // namespace verlc
