#include "e2e/train/job.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace verlc::e2e {
namespace {

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

pid_t parent_of(const fs::path& process) {
  const std::string stat = slurp(process / "stat");
  const size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream rest(stat.substr(after_name + 1));
  char state = 0;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

// The value of a variable in a process's environment; empty when it has none.
std::string variable_of(const fs::path& process, const std::string& name) {
  const std::string all = slurp(process / "environ");
  for (size_t begin = 0; begin < all.size();) {
    const size_t end = std::min(all.find('\0', begin), all.size());
    if (all.compare(begin, name.size() + 1, name + "=") == 0)
      return all.substr(begin + name.size() + 1, end - begin - name.size() - 1);
    begin = end + 1;
  }
  return {};
}

void become(const std::string& program, const std::vector<std::string>& arguments, const std::string& output,
            const JobOptions& options) {
  std::vector<char*> raw = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  ::setpgid(0, 0);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
  if (options.file_size_limit > 0) {
    // Without the signal, a write beyond the limit fails as on a full disk.
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{options.file_size_limit, options.file_size_limit};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ::execv(program.c_str(), raw.data());
  ::_exit(127);
}

}  // namespace

Scratch::Scratch() {
  static std::atomic<int> count{0};
  path_ = fs::temp_directory_path() /
          ("verlc_train_" + std::to_string(::getpid()) + "_" + std::to_string(count.fetch_add(1)));
  fs::create_directories(path_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path Scratch::write(const std::string& name, const std::string& text) const {
  const fs::path file = path_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

Job::Job(const std::vector<std::string>& arguments, JobOptions options) {
  const std::string program = std::string(VERLC_BINARY_DIR) + "/bin/verlc";
  const std::string log = (scratch_.path() / "output").string();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) become(program, arguments, log, options);
}

Job::~Job() {
  if (!ended_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
  }
}

std::map<int, pid_t> Job::ranks() const {
  std::map<pid_t, pid_t> parents;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      parents[static_cast<pid_t>(std::stol(name))] = parent_of(entry.path());
  }
  std::map<int, pid_t> found;
  for (const auto& [process, direct] : parents) {
    pid_t above = direct;
    while (above > 1 && above != pid_) above = parents.contains(above) ? parents[above] : 0;
    if (above != pid_) continue;
    const std::string rank = variable_of("/proc/" + std::to_string(process), "OMPI_COMM_WORLD_RANK");
    if (!rank.empty()) found[std::stoi(rank)] = process;
  }
  return found;
}

bool Job::runs() {
  if (!ended_) ended_ = ::waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

std::string Job::output() const {
  return slurp(scratch_.path() / "output");
}

Result Job::wait(double seconds) {
  const auto begin = std::chrono::steady_clock::now();
  const bool ended = eventually(seconds, [this] { return !runs(); });
  Result result;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!ended) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    ended_ = true;
  } else {
    result.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
  }
  result.output = output();
  return result;
}

Result run(const std::vector<std::string>& arguments, JobOptions options) {
  return Job(arguments, options).wait();
}

std::string recipe(const std::string& name) {
  return std::string(VERLC_SOURCE_DIR) + "/tests/e2e/recipes/" + name + ".toml";
}

fs::path rows(const std::string& name) {
  return fs::path(VERLC_SOURCE_DIR) / "tests/e2e/recipes" / (name + ".jsonl");
}

fs::path reward_plugin() {
  return fs::path(VERLC_BINARY_DIR) / "lib/verlc/plugins/reward_length.so";
}

std::vector<std::string> train(const std::string& recipe_file, int ranks, const fs::path& out,
                               const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {
      "train", recipe_file, "--ranks", std::to_string(ranks), "--set", "output_dir=" + out.string()};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

std::vector<std::string> train_plugin(int ranks, const fs::path& out,
                                      const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  all.push_back("reward.plugin=" + reward_plugin().string());
  return train(recipe("plugin"), ranks, out, all);
}

std::vector<nlohmann::json> read_jsonl(const fs::path& file) {
  std::vector<nlohmann::json> rows;
  const std::string text = slurp(file);
  for (size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    rows.push_back(nlohmann::json::parse(text.substr(begin, end - begin)));
  return rows;
}

std::vector<nlohmann::json> read_metrics(const fs::path& file) {
  std::vector<nlohmann::json> rows = read_jsonl(file);
  for (nlohmann::json& row : rows)
    for (auto it = row.begin(); it != row.end();) {
      const bool of_clock = it.key().starts_with("timing_s/") || it.key() == "perf/throughput" ||
                            it.key() == "perf/time_per_step";
      it = of_clock ? row.erase(it) : std::next(it);
    }
  return rows;
}

std::string read_rollouts(const fs::path& run, int step, int ranks) {
  const std::string name = std::to_string(step);
  if (ranks == 1) return slurp(run / "rollouts" / (name + ".jsonl"));
  std::string all;
  for (int rank = 0; rank < ranks; ++rank)
    all += slurp(run / "rollouts" / (name + ".rank" + std::to_string(rank) + ".jsonl"));
  return all;
}

int last_step(const fs::path& metrics) {
  const std::vector<nlohmann::json> rows = read_jsonl(metrics);
  return rows.empty() ? 0 : rows.back().at("step").get<int>();
}

bool eventually(double seconds, const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace verlc::e2e
