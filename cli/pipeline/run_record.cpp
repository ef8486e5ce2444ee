#include "pipeline/run_record.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "core/base/file.hpp"

namespace verlc::pipeline {
namespace {

bool logs_to(const Recipe& recipe, const char* name) {
  const std::vector<std::string>& loggers = recipe.trainer.logger;
  return std::find(loggers.begin(), loggers.end(), name) != loggers.end();
}

std::string manifest_text(const Recipe& recipe, Session& session) {
  nlohmann::json plugins = nlohmann::json::array();
  for (const PluginIdentity& plugin : session.loaded_plugins())
    plugins.push_back({{"id", plugin.id},
                       {"version", plugin.version},
                       {"path", plugin.path.string()},
                       {"sha256", plugin.sha256},
                       {"build_id", plugin.build_id}});
  const nlohmann::json manifest = {{"verlc", VERLC_VERSION},
                                   {"plugins", plugins},
                                   {"recipe", hash_recipe(recipe)},
                                   {"ranks", session.rank().size},
                                   {"threads_per_rank", session.rank().threads},
                                   {"host", session.rank().host}};
  return manifest.dump(1) + "\n";
}

// Lines of `text` that are not in `other`: what a resumed run does differently from the run it goes on with.
std::vector<std::string> new_lines(const std::string& text, const std::string& other) {
  std::set<std::string> known;
  std::string line;
  for (std::istringstream stream(other); std::getline(stream, line);) known.insert(line);
  std::vector<std::string> found;
  for (std::istringstream stream(text); std::getline(stream, line);)
    if (!known.contains(line)) found.push_back(line);
  return found;
}

}  // namespace

RunRecord::RunRecord(const Recipe& recipe, Session& session) : recipe_(recipe), session_(session) {}

void RunRecord::begin(uint64_t total_steps, uint64_t steps_done) {
  if (!session_.is_root()) return;
  const RunFolder folder(recipe_.run_folder());
  std::filesystem::create_directories(folder.root());
  const std::string resolved = dump_recipe(recipe_);
  std::vector<std::string> changed;
  if (steps_done > 0 && std::filesystem::exists(folder.resolved_recipe()))
    changed = new_lines(resolved, read_file(folder.resolved_recipe()));
  write_file(folder.resolved_recipe(), resolved);
  write_file(folder.manifest(), manifest_text(recipe_, session_));
  if (logs_to(recipe_, "file")) {
    file_ = std::make_unique<MetricsFile>(folder.metrics());
    file_->drop_after(steps_done);
  }
  if (logs_to(recipe_, "console")) {
    ConsoleStyle style = console_style(stdout);
    // mpirun gives its ranks a terminal of its own: only the launcher knows where their lines go.
    style.color = style.color && session_.rank().terminal;
    // The curve of a resumed run shows what was recorded before it.
    std::vector<double> earlier;
    if (file_) earlier = file_->series(headline_metric(recipe_.is_sft()));
    console_ = std::make_unique<Console>(stdout, style, total_steps, std::move(earlier));
    for (const std::string& line : changed) console_->note("changed since the checkpoint: " + line);
  }
}

void RunRecord::step(uint64_t step, const MetricValues& values, double seconds) {
  if (file_) file_->write(step, values);
  // Step 0 is the validation before training, which has a line of its own.
  if (console_ && step > 0) console_->step(step, values, seconds);
}

void RunRecord::note(const std::string& text) {
  if (console_) console_->note(text);
}

void RunRecord::sync() {
  if (file_) file_->sync();
}

void RunRecord::end(const std::string& accuracy_name, std::optional<double> before,
                    std::optional<double> after) {
  sync();
  if (!console_) return;
  console_->curve();
  if (before && after) console_->before_after(accuracy_name, *before, *after);
}

}  // namespace verlc::pipeline
