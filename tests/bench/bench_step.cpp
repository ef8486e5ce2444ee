// Tokens per second of generation and training through both engines' C ABI, next to the time that the same
// multiply-adds take at the FMA peak of the same run. usage: bench_step MODEL [prompts 8] [samples 8] [prompt
// 128] [response 128] Random prompts, no end of sequence. The floor counts what must be computed: one prefill
// per prompt, the head at sampled and loss positions only, causal attention by half.
#include <fmt/core.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "bench/peak.hpp"
#include "core/base/rng.hpp"
#include "core/base/thread_pool.hpp"
#include "core/models/model.hpp"
#include "pipeline/engines.hpp"
#include "pipeline/packed_samples.hpp"

using namespace verlc;

namespace {

struct Workload {
  int64_t prompts = 8, samples = 8, prompt = 128, response = 128;
  [[nodiscard]] int64_t sequences() const { return prompts * samples; }
};

double seconds(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double peak(Executor& threads) {
  constexpr int64_t kSteps = 20'000'000;
  return bench::peak_flops(threads, kSteps) / seconds([&] { bench::peak_loop(threads, kSteps); });
}

// Forward multiply-adds, times 2: matrices per token, head per row, attention per (token, key) pair.
struct Flops {
  double token, row, pair;
  explicit Flops(const Model& model) {
    const ModelConfig& c = model.config();
    row = 2.0 * static_cast<double>(c.vocab * c.hidden);
    const double embeddings = static_cast<double>(c.vocab * c.hidden) * (c.tied_head ? 1 : 2);
    token = 2.0 * (static_cast<double>(model.num_parameters()) - embeddings);
    pair = 4.0 * static_cast<double>(c.num_layers * c.num_heads * c.head_dim);
  }
};

double causal_pairs(double first, double last) {
  return (last * (last + 1) - first * (first + 1)) / 2;
}

void report(const char* name, double tokens, double time, double flops, double peak_rate) {
  fmt::print("{:<9} {:7.0f} tok/s  {:7.2f} s  floor {:6.2f} s at {:.0f} GF/s  {:.2f} x floor\n", name,
             tokens / time, time, flops / peak_rate, peak_rate * 1e-9, time * peak_rate / flops);
}

std::vector<Completion> generate(RolloutEngine& engine, const Workload& w, int64_t vocab,
                                 std::vector<std::vector<int32_t>>& prompts) {
  RandomStream random(1, Purpose::test);
  SamplingParameters sampling;
  sampling.max_new_tokens = w.response;
  sampling.ignore_eos = true;
  std::vector<RolloutRequest> requests;
  for (int64_t p = 0; p < w.prompts; ++p) {
    std::vector<int32_t>& prompt = prompts.emplace_back();
    for (int64_t t = 0; t < w.prompt; ++t)
      prompt.push_back(static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab))));
  }
  for (int64_t i = 0; i < w.sequences(); ++i) {
    const auto p = static_cast<size_t>(i / w.samples);
    requests.push_back({static_cast<uint64_t>(i), static_cast<uint64_t>(i), p + 1, prompts[p], &sampling, 0});
  }
  std::vector<Completion> done;
  if (engine.submit(requests) != requests.size()) return done;
  while (engine.poll(done) != Outcome::end) {
  }
  return done;
}

pipeline::PackedSamples pack(const std::vector<Completion>& done,
                             const std::vector<std::vector<int32_t>>& prompts, const Workload& w) {
  std::vector<pipeline::MaskedTokens> rows;
  for (const Completion& completion : done) {
    pipeline::MaskedTokens row{prompts[completion.id / static_cast<uint64_t>(w.samples)], {}};
    row.mask.assign(row.tokens.size(), 0);
    row.tokens.insert(row.tokens.end(), completion.tokens.begin(), completion.tokens.end());
    row.mask.resize(row.tokens.size(), 1);
    rows.push_back(std::move(row));
  }
  return pipeline::pack_sequences(rows);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print("usage: bench_step MODEL [prompts] [samples] [prompt] [response]\n");
    return 2;
  }
  Workload w;
  int64_t* const sizes[] = {&w.prompts, &w.samples, &w.prompt, &w.response};
  for (int i = 2; i < argc && i < 6; ++i) *sizes[i - 2] = std::stoll(argv[i]);
  const std::string model_folder = argv[1];
  const Model model(read_model_config(model_folder));
  pipeline::Session session({});
  ThreadPool pool(session.rank().threads);
  const auto rollout = pipeline::make_rollout_engine(
      session, "rollout",
      nlohmann::json{
          {"model", model_folder}, {"max_num_seqs", w.sequences()}, {"max_model_len", w.prompt + w.response}}
          .dump());
  const auto trainer = pipeline::make_train_engine(
      session, "fsdp", nlohmann::json{{"model", model_folder}, {"sharding", "none"}}.dump());
  const Flops flops(model);
  const double prompt = static_cast<double>(w.prompt), response = static_cast<double>(w.response);
  const double length = prompt + response, count = static_cast<double>(w.sequences());
  fmt::print("{} prompts x {} samples x ({} + {}) tokens, {} threads\n", w.prompts, w.samples, w.prompt,
             w.response, pool.threads());

  std::vector<std::vector<int32_t>> prompts;
  std::vector<Completion> done;
  double before = peak(pool);
  const double generated = seconds([&] { done = generate(*rollout, w, model.config().vocab, prompts); });
  double after = peak(pool);
  const double generate_flops =
      static_cast<double>(w.prompts) * (prompt * flops.token + causal_pairs(0, prompt) * flops.pair) +
      count * ((response - 1) * flops.token + response * flops.row +
               causal_pairs(prompt, length - 1) * flops.pair);
  report("generate", count * response, generated, generate_flops, (before + after) / 2);

  const pipeline::PackedSamples batch = pack(done, prompts, w);
  before = after;
  const double trained = seconds([&] {
    trainer->forward_backward(batch.batch(0, 2048), false, [&](verlc_micro_batch& micro) {
      for (uint64_t t = 0; t < micro.token_count; ++t)
        micro.d_logp[t] = batch.mask[micro.token_begin + t] != 0 ? -1e-4f : 0.0f;
    });
    trainer->optimizer_step(1e-6, 1.0);
  });
  after = peak(pool);
  const double forward =
      count * (length * flops.token + response * flops.row + causal_pairs(0, length) * flops.pair);
  report("train", count * length, trained, 3 * forward, (before + after) / 2);
  return 0;
}
