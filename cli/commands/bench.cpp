// verlc bench: how close this program comes to the limits of this machine.
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "commands/command.hpp"
#include "core/base/file.hpp"
#include "core/kernels/cpu/target.hpp"
#include "launch/launch.hpp"
#include "launch/rank_context.hpp"

namespace verlc {
namespace {

struct Asked {
  bench::BenchOptions options;
  std::string json;
};

// "Intel(R) Xeon(R) ..." as the kernel tells it.
std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

nlohmann::json head(const bench::BenchUnit& unit, const bench::BenchOptions& options) {
  nlohmann::json json = {{"bench", unit.name},
                         {"cpu", cpu_name()},
                         {"target", kernels::cpu_target()},
                         {"threads", bench::num_threads(options)},
                         {"dtype", options.dtype},
                         {"tiny", options.tiny}};
  if ((unit.takes & bench::takes_workload) != 0) {
    json["ranks"] = options.ranks;
    json["sharing"] = options.sharing;
    json["reference"] = options.reference;
  }
  return json;
}

std::vector<std::string> rank_arguments(const bench::BenchUnit& unit, const Asked& asked) {
  const bench::BenchOptions& options = asked.options;
  std::vector<std::string> argv = {"verlc", "bench", unit.name};
  const auto add = [&](const char* flag, const std::string& value) {
    argv.insert(argv.end(), {flag, value});
  };
  add("--ranks", std::to_string(options.ranks));
  add("--threads", std::to_string(options.threads));
  add("--steps", std::to_string(options.steps));
  add("--prompts", std::to_string(options.prompts));
  add("--samples", std::to_string(options.samples));
  add("--prompt", std::to_string(options.prompt_tokens));
  add("--response", std::to_string(options.response_tokens));
  add("--dtype", options.dtype);
  if (!options.model.empty()) add("--model", options.model);
  if (!asked.json.empty()) add("--json", asked.json);
  if (options.tiny) argv.emplace_back("--tiny");
  if (!options.sharing) argv.emplace_back("--no-sharing");
  if (!options.reference) argv.emplace_back("--no-reference");
  for (const std::string& override : options.overrides) add("--set", override);
  return argv;
}

int run(const bench::BenchUnit& unit, const Asked& asked) {
  if (needs_launch(asked.options.ranks)) {
    LaunchOptions launch;
    launch.ranks = asked.options.ranks;
    return launch_ranks(launch, rank_arguments(unit, asked));
  }
  const std::string title = fmt::format("{}: {}, {} thread(s), {}", unit.name, cpu_name(),
                                        bench::num_threads(asked.options), kernels::cpu_target());
  bench::Report report(asked.json == "-" ? stderr : stdout, title, head(unit, asked.options));
  const int code = unit.run(asked.options, report);
  if (asked.json.empty() || report.empty()) return code;  // only the first rank has something to tell
  const std::string text = report.json().dump(1) + "\n";
  if (asked.json == "-")
    std::fputs(text.c_str(), stdout);
  else
    write_file(asked.json, text);
  return code;
}

void add_options(CLI::App& app, const bench::BenchUnit& unit, Asked& asked) {
  bench::BenchOptions& options = asked.options;
  app.add_option("--threads", options.threads, "of each rank; 0 = all cores")->check(CLI::Range(0, 1024));
  app.add_option("--json", asked.json, "also write the values to this file; - = standard output");
  app.add_flag("--tiny", options.tiny, "sizes that take about a second: tests that it works, not how fast");
  app.add_option("--seconds", options.seconds, "rounds for each row")->check(CLI::Range(0.0, 3600.0));
  if ((unit.takes & bench::takes_dtype) != 0)
    app.add_option("--dtype", options.dtype,
                   "operands of the matrix products: float32, bfloat16_weights, bfloat16")
        ->check(CLI::IsMember({"float32", "bfloat16_weights", "bfloat16"}));
  if ((unit.takes & bench::takes_model) != 0)
    app.add_option("--model", options.model,
                   "folder whose config.json gives the shapes; weights are random. Default: SmolLM2-135M's");
  if ((unit.takes & bench::takes_workload) == 0) return;
  const auto count = [&](const char* flag, int64_t& value, const char* help) {
    app.add_option(flag, value, help)->check(CLI::Range(0, 1 << 20));
  };
  count("--prompts", options.prompts, "of a step; default 8");
  count("--samples", options.samples, "of each prompt; default 8");
  count("--prompt", options.prompt_tokens, "tokens of a prompt; default 128");
  count("--response", options.response_tokens, "tokens of a response; default 128");
  app.add_option("--steps", options.steps, "steps to run; the first is the cold one")
      ->check(CLI::Range(1, 1000));
  app.add_option("--ranks", options.ranks, "processes of the job")->check(CLI::Range(1, 1024));
  app.add_flag("!--no-sharing", options.sharing,
               "compute each sample on its own: prompts again for each, old log-probs again");
  app.add_flag("!--no-reference", options.reference, "no KL term, so no reference pass");
  app.add_option("--set", options.overrides, "section.key=value of the step's recipe; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

}  // namespace

void command_bench(CommandRegistry& registry) {
  CLI::App& group =
      registry.group("bench", "measure kernels, engines and whole steps beside the machine's limits");
  bench::BenchRegistry benches;
  bench_all(benches);
  for (const bench::BenchUnit& unit : benches.units()) {
    const auto asked = std::make_shared<Asked>();
    CLI::App& app = registry.add(
        unit.name, unit.help, [unit, asked] { return run(unit, *asked); }, &group);
    add_options(app, unit, *asked);
  }
}

}  // namespace verlc
