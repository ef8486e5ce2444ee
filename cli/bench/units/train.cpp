// A training step of a whole model through the training engine: forward, backward, AdamW.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bench/bench.hpp"
#include "bench/bench_model.hpp"
#include "bench/model_work.hpp"
#include "pipeline/engines.hpp"
#include "pipeline/packed_samples.hpp"

namespace verlc::bench {
namespace {

struct Shape {
  int64_t sequences, tokens;
};

pipeline::PackedSamples make_batch(const BenchModel& model, const Shape& shape) {
  std::vector<pipeline::MaskedTokens> rows;
  for (int64_t s = 0; s < shape.sequences; ++s) {
    pipeline::MaskedTokens row{model.prompt_ids(static_cast<uint64_t>(s), shape.tokens), {}};
    row.mask.assign(row.tokens.size(), 1);
    row.mask.front() = 0;
    rows.push_back(std::move(row));
  }
  return pipeline::pack_sequences(rows);
}

class TrainBench {
 public:
  TrainBench(const BenchOptions& options, Report& report)
      : options_(options),
        report_(report),
        model_(options),
        work_(model_.config()),
        session_(session_options(options)),
        timer_(make_timer(session_.threads(), options)),
        engine_(pipeline::make_train_engine(session_, "fsdp", engine_config(options, model_))),
        shape_(options.tiny ? Shape{2, 16} : Shape{8, 256}),
        batch_(make_batch(model_, shape_)) {}

  void run() {
    const double tokens = static_cast<double>(shape_.sequences * shape_.tokens);
    const double rows = tokens - static_cast<double>(shape_.sequences);
    const double pairs =
        static_cast<double>(shape_.sequences) * causal_pairs(0, static_cast<double>(shape_.tokens));
    const double forward = tokens * work_.token + rows * work_.row + pairs * work_.pair;
    const std::string size = fmt::format("{} x {} tokens", shape_.sequences, shape_.tokens);
    row("forward " + size, tokens, {forward, 0, options_.arithmetic()}, [&] {
      std::vector<float> logp(batch_.num_tokens());
      engine_->forward_logp(batch_.batch(0, 0), logp);
    });
    row("AdamW of all weights", work_.parameters, {0, 28 * work_.parameters, Arithmetic::f32},
        [&] { engine_->optimizer_step(1e-6, 1.0); });
    row("training step " + size, tokens, {3 * forward, 0, options_.arithmetic()}, [&] {
      backward();
      engine_->optimizer_step(1e-6, 1.0);
    });
  }

 private:
  static std::string engine_config(const BenchOptions& options, const BenchModel& model) {
    nlohmann::json config = {{"model", model.path()}, {"init", "random"}, {"sharding", "none"}};
    if (options.precision() != kernels::Precision::f32) config["dtype"] = options.dtype;
    return config.dump();
  }

  void row(const std::string& name, double amount, const Work& work, const std::function<void()>& body) {
    report_.row({name, work.flops > 0 ? "tok" : "Mw", work.flops > 0 ? amount : amount * 1e-6,
                 timer_.time(work, body)});
  }

  void backward() {
    engine_->forward_backward(batch_.batch(0, 0), false, [&](verlc_micro_batch& micro) {
      for (uint64_t t = 0; t < micro.token_count; ++t)
        micro.d_logp[t] = batch_.mask[micro.token_begin + t] != 0 ? -1e-4F : 0.0F;
    });
  }

  const BenchOptions& options_;
  Report& report_;
  BenchModel model_;
  ModelWork work_;
  pipeline::Session session_;
  Timer timer_;
  std::unique_ptr<TrainEngine> engine_;
  Shape shape_;
  pipeline::PackedSamples batch_;
};

int run(const BenchOptions& options, Report& report) {
  TrainBench(options, report).run();
  return 0;
}

}  // namespace

void bench_train(BenchRegistry& registry) {
  registry.add({"train",
                "forward, backward and AdamW of a whole model over 2048 tokens, through the training engine",
                takes_dtype | takes_model, run});
}

}  // namespace verlc::bench
