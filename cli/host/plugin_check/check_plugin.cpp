#include "host/plugin_check/check_plugin.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "core/base/error.hpp"

namespace verlc {
namespace {

constexpr auto kCaseLimit = std::chrono::seconds(45);
constexpr rlim_t kCaseMemory = rlim_t{8} << 30;

// Its shadow memory alone is larger than the limit.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif

// In the child: writes verdict and text to the pipe and leaves without running anything at exit.
[[noreturn]] void run_child(const std::function<CaseResult()>& body, int pipe_end) {
  const rlimit memory{kCaseMemory, kCaseMemory};
  const rlimit no_core{0, 0};
  if (!kAddressSanitizer) ::setrlimit(RLIMIT_AS, &memory);
  ::setrlimit(RLIMIT_CORE, &no_core);
  // A handler of this program would tell the plugin's crash as its own.
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGINT, SIGTERM})
    ::signal(signal, SIG_DFL);
  CaseResult result;
  try {
    result = body();
  } catch (const Error& error) {
    result = {Verdict::fail, error.what()};
  }
  const std::string text = static_cast<char>('0' + static_cast<int>(result.verdict)) + result.text;
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(pipe_end, text.data() + done, text.size() - done);
    if (wrote <= 0) break;
    done += static_cast<size_t>(wrote);
  }
  ::_exit(0);
}

// Everything that the child writes until it closes the pipe; false when the limit passed first.
bool read_all(int pipe_end, std::string& text) {
  const auto end = std::chrono::steady_clock::now() + kCaseLimit;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd entry{.fd = pipe_end, .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, static_cast<int>(left.count())) <= 0) continue;
    const ssize_t got = ::read(pipe_end, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"PASS", "WARN", "FAIL", "SKIP"};
  return kNames[static_cast<size_t>(verdict)];
}

CaseResult run_isolated(const std::function<CaseResult()>& body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0)
    return {Verdict::skip, std::string("cannot make a pipe: ") + std::strerror(errno)};
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return {Verdict::skip, std::string("cannot start a process: ") + std::strerror(errno)};
  if (child == 0) {
    ::close(ends[0]);
    run_child(body, ends[1]);
  }
  ::close(ends[1]);
  std::string text;
  const bool in_time = read_all(ends[0], text);
  ::close(ends[0]);
  if (!in_time) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) return {Verdict::fail, "not done after 45 s"};
  if (WIFSIGNALED(status))
    return {Verdict::fail, std::string("died of signal ") + std::to_string(WTERMSIG(status)) + " (" +
                               ::strsignal(WTERMSIG(status)) + ")"};
  if (text.empty() || WEXITSTATUS(status) != 0) return {Verdict::fail, "the plugin ended the process"};
  return {static_cast<Verdict>(text[0] - '0'), text.substr(1)};
}

std::vector<CheckCase> check_plugin(const std::filesystem::path& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  const PluginFile file = inspect_plugin(absolute, PluginOrigin::explicit_path);
  if (file.trust.path.empty())
    fail_input(
        {.what = file.problem, .where = path.string(), .value = {}, .fix = "give the path of a plugin file"});
  std::vector<CheckCase> all = static_cases(file);
  for (const auto& group : {load_cases, handshake_cases, reward_cases}) {
    const std::vector<CheckCase> cases = group(file);
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace verlc
