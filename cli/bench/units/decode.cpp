// One decode step of a whole model through the rollout engine, as the host drives it.
#include <fmt/core.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/bench_model.hpp"
#include "bench/model_work.hpp"
#include "core/base/error.hpp"
#include "pipeline/engines.hpp"

namespace verlc::bench {
namespace {

// Sequences that grow by one token a step around a mean context.
struct Batch {
  int64_t sequences, context, steps;
  [[nodiscard]] int64_t prompt() const { return context - steps / 2; }
  /// Two more than are measured: the first comes with the prompt, the last ends the request.
  [[nodiscard]] int64_t response() const { return steps + 2; }
};

std::string config_json(const BenchOptions& options, const BenchModel& model,
                        const std::vector<Batch>& batches) {
  int64_t most = 1, longest = 1, tokens = 1;
  for (const Batch& batch : batches) {
    most = std::max(most, batch.sequences);
    longest = std::max(longest, batch.prompt() + batch.response());
    tokens = std::max(tokens, batch.sequences * batch.prompt());
  }
  // Prompts go in at once, so that every step after the first is a decode step.
  return nlohmann::json{{"model", model.path()},         {"load_format", "dummy"},
                        {"dtype", options.dtype},        {"max_num_seqs", most},
                        {"max_model_len", longest},      {"max_num_batched_tokens", tokens + most},
                        {"enable_prefix_caching", false}}
      .dump();
}

void submit(RolloutEngine& engine, const BenchModel& model, const Batch& batch) {
  SamplingParameters sampling;
  sampling.max_new_tokens = batch.response();
  sampling.ignore_eos = true;
  std::deque<std::vector<int32_t>> prompts;
  std::vector<RolloutRequest> requests;
  for (int64_t s = 0; s < batch.sequences; ++s) {
    const auto id = static_cast<uint64_t>(s) + 1;
    prompts.push_back(model.prompt_ids(id, batch.prompt()));
    requests.push_back({id, id, id, prompts.back(), &sampling, 0});
  }
  if (engine.submit(requests) != requests.size())
    fail_run({.what = "the engine's queue is full", .where = "rollout", .value = {}, .fix = {}});
}

Timing measure(RolloutEngine& engine, Timer& timer, const Work& work, int64_t steps) {
  const auto step = [&] {
    std::vector<Completion> done;
    if (engine.poll(done, 1, std::chrono::nanoseconds(0)) != Outcome::again)
      fail_run(
          {.what = "the engine finished a request too early", .where = "rollout", .value = {}, .fix = {}});
  };
  step();  // the prompts
  double last = timer.seconds_of(step);
  Rounds rounds(work);
  Limits before = timer.limits(work, last);
  for (int64_t i = 1; i < steps; ++i) {
    last = timer.seconds_of(step);
    const Limits after = timer.limits(work, last);
    rounds.add(last, before, after);
    before = after;
  }
  std::vector<Completion> done;
  while (engine.poll(done) != Outcome::end) {
  }
  return rounds.timing();
}

int run(const BenchOptions& options, Report& report) {
  const BenchModel model(options);
  const ModelWork work(model.config());
  pipeline::Session session(session_options(options));
  Timer timer = make_timer(session.threads(), options);
  const std::vector<Batch> batches = options.tiny
                                         ? std::vector<Batch>{{1, 24, 6}, {4, 24, 6}}
                                         : std::vector<Batch>{{1, 192, 48}, {8, 192, 32}, {64, 192, 16}};
  const auto engine = pipeline::make_rollout_engine(session, "rollout", config_json(options, model, batches));
  for (const Batch& batch : batches) {
    const auto count = static_cast<double>(batch.sequences);
    const double keys = count * static_cast<double>(batch.context);
    const Work step{count * (work.token + work.row) + keys * work.pair,
                    work.matrix_elements * options.weight_bytes() + keys * work.kv_floats * 4,
                    options.arithmetic()};
    submit(*engine, model, batch);
    report.row({fmt::format("decode M={} context {} {}", batch.sequences, batch.context, options.dtype),
                "tok", count, measure(*engine, timer, step, batch.steps)});
  }
  return 0;
}

}  // namespace

void bench_decode(BenchRegistry& registry) {
  registry.add({"decode",
                "a decode step of a whole model at 1, 8 and 64 sequences, through the rollout engine",
                takes_dtype | takes_model, run});
}

}  // namespace verlc::bench
