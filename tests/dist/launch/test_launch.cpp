// The launcher from outside: exit codes, what is told, and that nothing is left behind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

namespace {

struct Outcome {
  int code = -1;
  std::string text;  // both streams
};

const std::string kProbe = std::string(VERLC_BINARY_DIR) + "/bin/dist_launch_probe";

// Runs the probe; `on_text` sees the output so far and may send signals.
Outcome run(const std::string& mode, const std::string& ranks,
            const std::function<void(pid_t pid, const std::string& text)>& on_text = nullptr) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::execl(kProbe.c_str(), kProbe.c_str(), mode.c_str(), ranks.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  Outcome outcome;
  std::array<char, 512> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    outcome.text.append(buffer.data(), static_cast<size_t>(got));
    if (on_text) on_text(pid, outcome.text);
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a job of several ranks starts by itself, compares and ends with 0") {
  const Outcome two = run("run", "2");
  CHECK(two.code == 0);
  CHECK(contains(two.text, "2 ranks on 1 host"));
  CHECK(contains(two.text, "recipe a"));
  CHECK(contains(two.text, "sum 1 local 0 of 2"));
  const Outcome one = run("run", "1");
  CHECK(one.code == 0);
  CHECK(contains(one.text, "1 rank on 1 host"));
}

TEST_CASE("a recipe that differs is refused with the ranks that have another one") {
  const Outcome outcome = run("differ", "3");
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.text, "the recipe hash differs between ranks: rank 0 has a, ranks 1, 2 have b"));
}

TEST_CASE("a failing rank ends the job with its reason, once, and its code") {
  const Outcome outcome = run("fail", "2");
  CHECK(outcome.code == 2);
  CHECK(occurrences(outcome.text, "this rank fails") == 1);
  CHECK(contains(outcome.text, "rank 1: probe: this rank fails (value: 1); fix: none"));
  CHECK_FALSE(contains(outcome.text, "MPI_ABORT"));
}

TEST_CASE("a killed rank is told with its signal") {
  const Outcome outcome = run("kill", "2");
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.text, "rank 1 was killed by signal 9 (Killed)"));
}

TEST_CASE("an interrupt reaches every rank, which saves and leaves with 130") {
  const int signal = GENERATE(SIGINT, SIGTERM);
  bool sent = false;
  const Outcome outcome = run("wait", "2", [&](pid_t pid, const std::string& text) {
    if (sent || occurrences(text, "waiting") < 2) return;
    sent = true;
    ::kill(pid, signal);
  });
  CHECK(outcome.code == 130);
  CHECK(contains(outcome.text, "saved 0"));
  CHECK(contains(outcome.text, "saved 1"));
}

TEST_CASE("the death of the launcher ends its ranks") {
  bool sent = false;
  // The ranks hold the pipe, so run() comes back only when all of them are gone.
  const Outcome outcome = run("wait", "2", [&](pid_t pid, const std::string& text) {
    if (sent || occurrences(text, "waiting") < 2) return;
    sent = true;
    ::kill(pid, SIGKILL);
  });
  CHECK(outcome.code == 128 + SIGKILL);
}

TEST_CASE("a missing mpirun is an input error with what to install") {
  const Outcome outcome = run("no-mpirun", "2");
  CHECK(outcome.code == 2);
  CHECK(contains(outcome.text, "mpirun-that-is-not-there"));
  CHECK(contains(outcome.text, "openmpi-bin"));
}
