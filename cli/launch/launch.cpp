#include "launch/launch.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/thread_pool.hpp"
#include "launch/job_output.hpp"
#include "launch/rank_context.hpp"
#include "launch/startup_log.hpp"

namespace verlc {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitInterrupted = 130;
constexpr auto kGrace = std::chrono::seconds(8);

// Signals of the user, counted by the handler; see CancelService for the ranks' side.
std::atomic<int> user_signals{0};
void count_signal(int) {
  user_signals.fetch_add(1);
}

// Handlers for the time of a job.
class SignalCounter {
 public:
  SignalCounter() {
    user_signals.store(0);
    struct sigaction action {};
    action.sa_handler = count_signal;  // no SA_RESTART: poll() must come back
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &old_int_);
    ::sigaction(SIGTERM, &action, &old_term_);
  }
  SignalCounter(const SignalCounter&) = delete;
  SignalCounter& operator=(const SignalCounter&) = delete;
  ~SignalCounter() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
};

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const char* path = std::getenv("PATH");
  std::stringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && ::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

// A batch system hands its hosts to mpirun without a word on the command line.
bool on_one_host(const LaunchOptions& options) {
  for (const char* job : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"})
    if (std::getenv(job) != nullptr) return false;
  return options.hostfile.empty();
}

std::vector<std::string> mpirun_arguments(const LaunchOptions& options,
                                          const std::vector<std::string>& argv) {
  std::vector<std::string> arguments = {options.mpirun, "-n", std::to_string(options.ranks), "--bind-to",
                                        "none"};
  if (options.oversubscribe || (options.hostfile.empty() && options.ranks > available_threads()))
    arguments.emplace_back("--oversubscribe");
  if (::geteuid() == 0) arguments.emplace_back("--allow-run-as-root");
  if (!options.hostfile.empty()) arguments.insert(arguments.end(), {"--hostfile", options.hostfile});
  // Ranks of one host meet in shared memory. The other transports of Open MPI take most of its start to find
  // out that they are of no use here.
  if (on_one_host(options) && std::getenv("OMPI_MCA_pml") == nullptr)
    arguments.insert(arguments.end(), {"--mca", "pml", "ob1"});
  arguments.insert(arguments.end(), {"-x", "VERLC_TERMINAL", "-x", StartupLog::kVariable});
  arguments.insert(arguments.end(), options.extra.begin(), options.extra.end());
  arguments.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  arguments.insert(arguments.end(), argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  return arguments;
}

// In the child: becomes mpirun, in a process group of its own so that the terminal's ^C reaches only the
// parent.
[[noreturn]] void become_mpirun(const std::string& program, std::vector<std::string>& arguments,
                                int error_pipe, pid_t parent) {
  std::vector<char*> raw;
  for (std::string& argument : arguments) raw.push_back(argument.data());
  raw.push_back(nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kExitFailed);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(error_pipe, STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  ::execv(program.c_str(), raw.data());
  ::_exit(127);
}

// The kernel's count of processes that it killed for memory in this control group.
int64_t oom_kills() {
  std::ifstream groups("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(groups, line);)
    if (line.starts_with("0::")) group = line.substr(3);
  std::ifstream events("/sys/fs/cgroup" + group + "/memory.events");
  std::string key;
  for (int64_t value = 0; events >> key >> value;)
    if (key == "oom_kill") return value;
  return 0;
}

// Passes the user's signals on: the first to the ranks (SIGUSR1, which mpirun forwards), the second ends the
// job, and after the grace time nothing is asked any more.
class Forwarder {
 public:
  explicit Forwarder(pid_t job) : job_(job) {}
  void step() {
    const int seen = user_signals.load();
    if (seen > 0 && sent_ == 0) {
      ::kill(job_, SIGUSR1);
      sent_ = 1;
    }
    if (seen > 1 && sent_ == 1) {
      ::kill(job_, SIGTERM);
      deadline_ = std::chrono::steady_clock::now() + kGrace;
      sent_ = 2;
    }
    if (sent_ == 2 && std::chrono::steady_clock::now() > deadline_) ::killpg(job_, SIGKILL);
  }
  [[nodiscard]] bool interrupted() const { return sent_ > 0; }

 private:
  pid_t job_;
  int sent_ = 0;
  std::chrono::steady_clock::time_point deadline_;
};

// Reads until mpirun has ended; returns its wait status.
int follow(pid_t job, int error_pipe, JobOutput& output, Forwarder& forwarder) {
  std::array<char, 4096> buffer{};
  bool open = true;
  int status = 0;
  for (;;) {
    forwarder.step();
    pollfd entry{.fd = open ? error_pipe : -1, .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, 100);
    if (open && (entry.revents & (POLLIN | POLLHUP)) != 0) {
      const ssize_t got = ::read(error_pipe, buffer.data(), buffer.size());
      if (got > 0) {
        output.feed({buffer.data(), static_cast<size_t>(got)});
        continue;
      }
      open = got < 0 && errno == EINTR;
    }
    // A rank that outlives mpirun for a moment may still hold the pipe, so the pipe's end is not waited for.
    const pid_t ended = ::waitpid(job, &status, WNOHANG);
    if (ended == job) break;
    if (ended < 0 && errno != EINTR) break;
  }
  ::fcntl(error_pipe, F_SETFL, O_NONBLOCK);
  for (ssize_t got = 0; open && (got = ::read(error_pipe, buffer.data(), buffer.size())) > 0;)
    output.feed({buffer.data(), static_cast<size_t>(got)});
  output.finish();
  return status;
}

int exit_code(int status, const JobOutput& output, bool interrupted, int64_t oom_before) {
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (interrupted && (code == kExitInterrupted || code > 3)) return kExitInterrupted;
  if (const std::optional<KilledRank> killed = output.killed()) {
    const int64_t oom = oom_kills() - oom_before;
    std::fprintf(stderr, "rank %d was killed by signal %d (%s)%s\n", killed->rank, killed->signal,
                 ::strsignal(killed->signal),
                 oom > 0 ? "; the kernel killed a process for lack of memory" : "");
    return kExitFailed;
  }
  if (code == 0) return 0;
  if (!output.told() && code != kExitInterrupted)
    std::fprintf(stderr, "the job ended with code %d; mpirun said:\n%s", code, output.banners().c_str());
  return code <= 3 || code == kExitInterrupted ? code : kExitFailed;
}

}  // namespace

bool needs_launch(int ranks) {
  return ranks > 1 && !inside_launcher();
}

int launch_ranks(const LaunchOptions& options, const std::vector<std::string>& argv) {
  const std::string program = find_program(options.mpirun);
  if (program.empty())
    fail_input({.what = "cannot find the program that starts ranks",
                .where = "--ranks " + std::to_string(options.ranks),
                .value = options.mpirun,
                .fix = "install Open MPI (Debian: openmpi-bin), or run with one rank"});
  std::vector<std::string> arguments = mpirun_arguments(options, argv);
  std::array<int, 2> error_pipe{};
  if (::pipe2(error_pipe.data(), O_CLOEXEC) != 0)
    fail_run({.what = std::string("cannot make a pipe: ") + std::strerror(errno),
              .where = "launch",
              .value = {},
              .fix = {}});
  ::setenv("VERLC_TERMINAL", ::isatty(STDOUT_FILENO) == 1 ? "1" : "0", 1);
  StartupLog::pass_on();
  std::fflush(nullptr);
  const SignalCounter signals;
  const int64_t oom_before = oom_kills();
  const pid_t parent = ::getpid();
  const pid_t job = ::fork();
  if (job < 0)
    fail_run({.what = std::string("cannot start a process: ") + std::strerror(errno),
              .where = "launch",
              .value = {},
              .fix = {}});
  if (job == 0) become_mpirun(program, arguments, error_pipe[1], parent);
  ::close(error_pipe[1]);
  JobOutput output;
  Forwarder forwarder(job);
  const int status = follow(job, error_pipe[0], output, forwarder);
  ::close(error_pipe[0]);
  ::killpg(job, SIGKILL);  // whatever mpirun left in its process group
  return exit_code(status, output, forwarder.interrupted(), oom_before);
}

}  // namespace verlc
