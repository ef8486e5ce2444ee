// A whole step of reinforcement learning by the trainer itself, on a made-up recipe, split by phase.
#include <fmt/core.h>

#include <map>

#include "bench/bench.hpp"
#include "bench/bench_model.hpp"
#include "bench/memory_bar.hpp"
#include "bench/model_work.hpp"
#include "bench/phase_clock.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "launch/launch.hpp"
#include "pipeline/grpo_trainer.hpp"
#include "recipe/load.hpp"

namespace verlc::bench {
namespace {

constexpr double kMicroTokens = 2048;

StepShape step_shape(const BenchOptions& options) {
  const auto size = [&](int64_t asked, double normal, double tiny) {
    return asked > 0 ? static_cast<double>(asked) : options.tiny ? tiny : normal;
  };
  StepShape shape;
  shape.prompts = size(options.prompts, 8, 2);
  shape.samples = size(options.samples, 8, 2);
  shape.prompt_tokens = size(options.prompt_tokens, 128, 8);
  shape.response_tokens = size(options.response_tokens, 128, 8);
  shape.shared = options.sharing;
  return shape;
}

std::string recipe_text(const BenchOptions& options, const BenchModel& model, const StepShape& shape) {
  const double tokens = shape.prompt_tokens + shape.response_tokens;
  std::string text = fmt::format(
      "name = \"step\"\noutput_dir = \"{}\"\nseed = 1\n"
      "[model]\npath = \".\"\ninit = \"random\"\nenable_gradient_checkpointing = false\n"
      "[data]\ntrain_files = \"rows.jsonl\"\ntrain_batch_size = {}\nmax_prompt_length = {}\n"
      "max_response_length = {}\napply_chat_template = false\n",
      model.path(), shape.prompts, shape.prompt_tokens, shape.response_tokens);
  // Rewards of random words are all 0: a group without advantage stands for one that has some.
  text += fmt::format(
      "[algorithm]\nname = \"grpo\"\nskip_zero_advantage_groups = false\n"
      "[actor]\nuse_kl_loss = {}\nuse_prefix_grouper = {}\nold_log_prob = \"{}\"\nppo_mini_batch_size = {}\n"
      "ppo_max_token_len_per_gpu = {}\n[actor.optim]\nlr = 1e-6\n[actor.fsdp_config]\nsharding = \"none\"\n",
      options.reference, options.sharing, options.sharing ? "reuse" : "recompute", shape.prompts,
      std::max(kMicroTokens, tokens));
  text += fmt::format(
      "[rollout]\nn = {}\nmax_num_seqs = {}\nenable_prefix_caching = {}\n[reward]\nname = \"exact\"\n"
      "[trainer]\nranks = {}\nthreads_per_rank = {}\ntotal_epochs = {}\nlogger = [\"file\"]\n",
      shape.samples, shape.sequences(), options.sharing, options.ranks, options.threads, options.steps);
  return text;
}

void write_rows(const BenchModel& model, const StepShape& shape) {
  std::string rows;
  for (int p = 0; p < static_cast<int>(shape.prompts); ++p) {
    const nlohmann::json row = {
        {"data_source", "bench"},
        {"prompt",
         {{{"role", "user"},
           {"content",
            BenchModel::prompt(static_cast<uint64_t>(p), static_cast<int64_t>(shape.prompt_tokens))}}}},
        {"reward_model", {{"style", "rule"}, {"ground_truth", "0"}}}};
    rows += row.dump() + "\n";
  }
  write_file(model.folder() / "rows.jsonl", rows);
}

Recipe make_recipe(const BenchOptions& options, const BenchModel& model, const StepShape& shape) {
  write_rows(model, shape);
  const std::filesystem::path file = model.folder() / "step.toml";
  write_file(file, recipe_text(options, model, shape));
  LoadOptions load;
  if (options.precision() != kernels::Precision::f32)
    for (const char* key : {"actor.fsdp_config.dtype", "ref.fsdp_config.dtype", "rollout.dtype"})
      load.overrides.push_back(fmt::format("{}={}", key, options.dtype));
  load.overrides.insert(load.overrides.end(), options.overrides.begin(), options.overrides.end());
  return load_recipe(file, load);
}

// What each phase of one rank must do.
std::map<std::string, Work> phase_work(const ModelWork& model, const StepShape& shape,
                                       const BenchOptions& options) {
  StepShape own = shape;
  own.prompts /= options.ranks;
  const double forward = forward_flops(model, own);
  const Arithmetic arithmetic = options.arithmetic();
  return {
      {"gen", {generate_flops(model, own), generate_bytes(model, own, options.weight_bytes()), arithmetic}},
      {"old_log_prob", {forward, 0, arithmetic}},
      {"ref", {forward, 0, arithmetic}},
      {"update_actor", {3 * forward, 28 * model.parameters, arithmetic}},
      {"update_weights", {0, 8 * model.parameters, arithmetic}}};
}

void report_step(Report& report, int number, const std::vector<PhaseClock::Phase>& phases,
                 const std::map<std::string, Work>& works, const StepShape& shape) {
  report.heading(fmt::format("step {}", number));
  const auto named = [&](const std::string& name) { return fmt::format("{} (step {})", name, number); };
  double seconds = 0, floor = 0;
  for (const PhaseClock::Phase& phase : phases) {
    const auto found = works.find(phase.name);
    const Work work = found == works.end() ? Work() : found->second;
    Rounds rounds(work);
    rounds.add(phase.seconds, phase.before, phase.after);
    const bool generates = phase.name == "gen";
    const double tokens = generates ? shape.sequences() * shape.response_tokens : shape.tokens();
    report.row({named(phase.name), "tok", tokens, rounds.timing()});
    seconds += phase.seconds;
    floor += rounds.timing().floor;
  }
  report.value(named("whole step"), seconds, "s");
  report.value(named("whole step over its floor"), floor > 0 ? seconds / floor : 0, "x");
}

// `resident`: the most that was, without the benchmark's own.
void report_memory(Report& report, const ModelWork& model, const StepShape& shape,
                   const BenchOptions& options, double resident) {
  StepShape own = shape;
  own.prompts /= options.ranks;
  const MemoryBar bar(model, own, kMicroTokens, options.reference);
  report.heading("memory of rank 0");
  for (const auto& [name, bytes] : bar.parts()) report.value("formula: " + name, bytes * 1e-9, "GB");
  report.value("formula: sum", bar.total() * 1e-9, "GB");
  report.value("peak resident", resident * 1e-9, "GB");
  report.value("peak resident over the formula", resident / bar.total(), "x");
}

int run(const BenchOptions& options, Report& report) {
  const StepShape shape = step_shape(options);
  const BenchModel model(options);
  const ModelWork work(model.config());
  const Recipe recipe = make_recipe(options, model, shape);
  pipeline::Session session(pipeline::session_options(recipe));
  Timer timer = make_timer(session.threads(), options);
  pipeline::GrpoTrainer trainer(recipe, session);
  session.first_result("");  // from here on the phases are this benchmark's
  PhaseClock clock(timer, options.arithmetic());
  std::vector<std::vector<PhaseClock::Phase>> steps;
  bool started = false;
  session.world().watch_phases([&](const std::string& phase) {
    if (phase == "gen") {
      if (started) steps.push_back(clock.finish());
      started = true;
    }
    if (started) clock.enter(phase);
  });
  trainer.rehearse(static_cast<uint64_t>(options.steps));
  session.world().watch_phases(nullptr);
  steps.push_back(clock.finish());
  if (!session.is_root()) return 0;
  const std::map<std::string, Work> works = phase_work(work, shape, options);
  for (size_t s = 0; s < steps.size(); ++s)
    report_step(report, static_cast<int>(s) + 1, steps[s], works, shape);
  report_memory(report, work, shape, options, peak_resident_bytes() - timer.held_bytes());
  return 0;
}

}  // namespace

void bench_step(BenchRegistry& registry) {
  registry.add({"step", "a whole GRPO step split by phase, with peak memory",
                takes_dtype | takes_model | takes_workload, run});
}

}  // namespace verlc::bench
