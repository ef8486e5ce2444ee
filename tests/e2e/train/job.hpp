// A run of the built program, watched from outside: exit code, output, ranks, files.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verlc::e2e {

namespace fs = std::filesystem;

struct Result {
  int code = -1;       ///< 128 + signal when killed; -1 when the watchdog had to end it
  std::string output;  ///< standard output and error together
  double seconds = 0;
};

/// A folder of this test that is removed at the end.
class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  [[nodiscard]] const fs::path& path() const { return path_; }
  /// Writes a file below the folder, making its parents, and gives its path.
  fs::path write(const std::string& name, const std::string& text) const;

 private:
  fs::path path_;
};

struct JobOptions {
  uint64_t file_size_limit = 0;  ///< RLIMIT_FSIZE, bytes; 0 = none
};

/// `verlc ARGUMENTS` in the background.
class Job {
 public:
  explicit Job(const std::vector<std::string>& arguments, JobOptions options = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  /// Ends what still runs.
  ~Job();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The processes that are ranks of this job, by rank.
  [[nodiscard]] std::map<int, pid_t> ranks() const;
  /// Has not ended yet.
  [[nodiscard]] bool runs();
  /// Waits; ends the job when `seconds` have passed.
  Result wait(double seconds = 120);

 private:
  [[nodiscard]] std::string output() const;

  Scratch scratch_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

/// Runs to the end.
Result run(const std::vector<std::string>& arguments, JobOptions options = {});

/// tests/e2e/recipes/NAME.toml.
std::string recipe(const std::string& name);
/// The rows that those recipes read: tests/e2e/recipes/NAME.jsonl.
fs::path rows(const std::string& name);
/// The example reward plugin, as built.
fs::path reward_plugin();
/// "train", the recipe, --ranks, --set each; output goes below `out`.
std::vector<std::string> train(const std::string& recipe_file, int ranks, const fs::path& out,
                               const std::vector<std::string>& settings = {});
/// train() of plugin.toml with the example plugin.
std::vector<std::string> train_plugin(int ranks, const fs::path& out,
                                      const std::vector<std::string>& settings = {});

/// The lines of a JSONL file; an unfinished last line is left out.
std::vector<nlohmann::json> read_jsonl(const fs::path& file);
/// metrics.jsonl without what a clock decides (timing_s/*, perf/throughput, perf/time_per_step).
std::vector<nlohmann::json> read_metrics(const fs::path& file);
/// The samples of a step over all ranks, in the order of the global batch.
std::string read_rollouts(const fs::path& run, int step, int ranks);
/// The step of the last whole line; 0 when there is none.
int last_step(const fs::path& metrics);
/// Polls `condition` until it holds or `seconds` have passed; gives whether it held.
bool eventually(double seconds, const std::function<bool()>& condition);

}  // namespace verlc::e2e
