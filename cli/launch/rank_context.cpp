#include "launch/rank_context.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <set>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/thread_pool.hpp"
#include "host/comm/transports.hpp"
#include "host/plugin_catalog.hpp"

namespace verlc {
namespace {

constexpr int kExitInterrupted = 130;

int number_from(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

// Ranks of the job that this process belongs to, as its launcher says; 0 = no launcher.
int launched_size() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const int size = number_from(name); size > 0) return size;
  // A batch script has SLURM_PROCID too; only a step of srun has its own number of tasks.
  if (std::getenv("SLURM_STEP_ID") != nullptr && std::getenv("SLURM_PROCID") != nullptr)
    return number_from("SLURM_STEP_NUM_TASKS");
  return 0;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::unique_ptr<Transport> make_transport(int size) {
  if (size <= 1) return make_local_transport();
  std::unique_ptr<Transport> transport = open_mpi_transport(library_folder() / "comm" / "openmpi.so");
  if (transport->size() != size)
    fail_run({.what = fmt::format("the launcher started {} ranks, MPI has {}", size, transport->size()),
              .where = "start of the ranks",
              .value = {},
              .fix = "use the mpirun of the Open MPI that verlc is built with; under srun: srun --mpi=pmix"});
  return transport;
}

void require_expected(int expected, int size) {
  if (expected == 0 || expected == size) return;
  fail_input({.what = fmt::format("{} ranks are wanted, the launcher started {}", expected, size),
              .where = "--ranks",
              .value = std::to_string(expected),
              .fix = fmt::format("start {} ranks, or set --ranks {}", expected, size)});
}

// "rank 1" or "ranks 1, 3".
std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

void require_equal(const std::vector<std::string>& values, const std::string& name) {
  std::vector<int> others;
  for (size_t r = 1; r < values.size(); ++r)
    if (values[r] != values[0]) others.push_back(static_cast<int>(r));
  if (others.empty()) return;
  fail_input({.what = fmt::format("the {} differs between ranks: rank 0 has {}, {} {} {}", name, values[0],
                                  ranks_text(others), others.size() == 1 ? "has" : "have",
                                  values[static_cast<size_t>(others[0])]),
              .where = "preflight",
              .value = {},
              .fix = "make the program and the recipe equal on every host"});
}

int end_job(RankContext& context, int code, const std::string& reason) {
  std::fprintf(stderr, "error: rank %d: %s\n", context.rank, reason.c_str());
  std::fflush(nullptr);
  context.world->abort(code, reason);
  return code;
}

}  // namespace

bool inside_launcher() {
  return launched_size() > 0;
}

RankContext join_ranks(const JoinOptions& options) {
  const int size = std::max(1, launched_size());
  require_expected(options.expected_ranks, size);
  if (size > 1)
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the launcher's death, however it died, is the job's end
  RankContext context;
  GroupOptions group;
  group.allocator = options.allocator;
  context.world = std::make_unique<ProcessGroup>(make_transport(size), group);
  context.rank = context.world->rank();
  context.size = context.world->size();
  context.host = host_name();
  const std::vector<std::string> hosts = context.world->all_gather_text(context.host);
  context.local_size = static_cast<int>(std::count(hosts.begin(), hosts.end(), context.host));
  context.local_rank =
      static_cast<int>(std::count(hosts.begin(), hosts.begin() + context.rank, context.host));
  context.threads = options.threads_per_rank > 0 ? options.threads_per_rank
                                                 : std::max(1, available_threads() / context.local_size);
  const char* terminal = std::getenv("VERLC_TERMINAL");
  context.terminal =
      context.rank == 0 && (terminal != nullptr ? terminal[0] == '1' : ::isatty(STDOUT_FILENO) == 1);
  return context;
}

std::string preflight(RankContext& context, const std::string& version, const std::string& recipe_hash) {
  context.world->set_phase("preflight");
  require_equal(context.world->all_gather_text(version), "version of verlc");
  require_equal(context.world->all_gather_text(recipe_hash), "recipe hash");
  require_equal(context.world->all_gather_text(std::to_string(context.threads)),
                "number of threads per rank");
  const std::vector<std::string> names = context.world->all_gather_text(context.host);
  const size_t num_hosts = std::set<std::string>(names.begin(), names.end()).size();
  return fmt::format("{} rank{} on {} host{}, {} thread{} each, verlc {}, recipe {}", context.size,
                     context.size == 1 ? "" : "s", num_hosts, num_hosts == 1 ? "" : "s", context.threads,
                     context.threads == 1 ? "" : "s", version, recipe_hash.substr(0, 12));
}

int run_rank(RankContext& context, const std::function<int()>& body) {
  if (context.size == 1) return body();  // main tells what goes wrong
  // The other ranks must end too, so the fault can't travel on to main as in a job of one.
  try {
    const int code = body();
    // A launcher ends the job at the first code other than 0: nobody leaves before all are done.
    if (code == kExitInterrupted) context.world->barrier();
    return code;
  } catch (const Error& error) {
    return end_job(context, static_cast<int>(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return end_job(context, static_cast<int>(ErrorKind::fit), "out of host memory");
  } catch (const std::exception& error) {
    return end_job(context, static_cast<int>(ErrorKind::run), error.what());
  }
}

}  // namespace verlc
