#include "pipeline/sft_trainer.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "data/length_limit.hpp"
#include "pipeline/engines.hpp"

namespace verlc::pipeline {
namespace {

struct SftRows {
  std::vector<MaskedTokens> rows;
  std::string digest;
};

SftRows load_rows(const Recipe& recipe, const std::vector<std::string>& files, int64_t max_samples,
                  const TextCodec& codec) {
  SftSchema schema;
  schema.messages_key = recipe.data.messages_key;
  schema.prompt_key = recipe.data.prompt_key;
  schema.response_key = recipe.data.response_key;
  schema.max_samples = max_samples;
  SftDataset data = load_sft(std::vector<std::filesystem::path>(files.begin(), files.end()), schema);
  const int64_t most = recipe.data.max_prompt_length + recipe.data.max_response_length;
  SftRows result{{}, data.digest};
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < data.rows.size(); ++i) {
    MaskedTokens tokens = codec.encode_sft(data.rows[i], data.where(i));
    lengths.push_back(static_cast<int64_t>(tokens.tokens.size()));
    if (lengths.back() <= most) result.rows.push_back(std::move(tokens));
  }
  limit_lengths(
      data, lengths,
      {most, "data.max_prompt_length + data.max_response_length", recipe.data.filter_overlong_prompts});
  return result;
}

RowSamplerConfig sampler_config(const Recipe& recipe, size_t rows, const std::string& digest) {
  RowSamplerConfig config;
  config.rows = rows;
  config.batch_size = static_cast<size_t>(recipe.data.train_batch_size);
  config.seed = static_cast<uint64_t>(recipe.data.seed.value_or(recipe.seed));
  config.shuffle = recipe.data.shuffle;
  config.epochs = static_cast<uint64_t>(recipe.trainer.total_epochs);
  if (recipe.trainer.total_training_steps)
    config.total_steps = static_cast<uint64_t>(*recipe.trainer.total_training_steps);
  config.digest = digest;
  return config;
}

TextCodec read_tokenizer(const Recipe& recipe, Session& session) {
  session.world().set_phase("tokenizer");
  return TextCodec::from_recipe(recipe);
}

RowSampler load_sampler(const Recipe& recipe, Session& session, const TextCodec& codec,
                        std::vector<MaskedTokens>& rows) {
  session.world().set_phase("rows");
  SftRows loaded = load_rows(recipe, recipe.data.train_files, recipe.data.train_max_samples, codec);
  rows = std::move(loaded.rows);
  return RowSampler(sampler_config(recipe, rows.size(), loaded.digest));
}

}  // namespace

SftTrainer::SftTrainer(const Recipe& recipe, Session& session)
    : recipe_(recipe),
      session_(session),
      codec_(read_tokenizer(recipe, session)),
      sampler_(load_sampler(recipe, session, codec_, rows_)),
      checkpointer_(recipe, session),
      record_(recipe, session),
      schedule_(make_schedule(recipe.actor.optim, sampler_.total_steps())) {
  if (!recipe.data.val_files.empty())
    held_out_ = load_rows(recipe, recipe.data.val_files, recipe.data.val_max_samples, codec_).rows;
  session_.world().set_phase("load actor");
  engine_ = make_train_engine(session_, recipe.actor.strategy, actor_config(recipe));
}

PackedSamples SftTrainer::own_rows(const std::vector<uint32_t>& rows) const {
  const size_t rank = static_cast<size_t>(session_.rank().rank),
               ranks = static_cast<size_t>(session_.rank().size);
  std::vector<MaskedTokens> own;
  for (size_t i = rows.size() * rank / ranks; i < rows.size() * (rank + 1) / ranks; ++i)
    own.push_back(rows_[rows[i]]);
  return pack_sequences(own);
}

// Token-mean loss over all ranks; with `train` also the gradients. `tokens` gets this rank's number of
// tokens.
double SftTrainer::loss_over(const PackedSamples& batch, bool train, double* tokens) {
  const GlobalCounts counts = reduce_counts(count_loss_tokens(batch.layout()), session_.reducer());
  const MicroLimits limits = actor_limits(recipe_);
  const PackedBatch packed = batch.batch(limits.sequences, limits.tokens);
  double loss = 0;
  *tokens = static_cast<double>(batch.num_tokens());
  if (train) {
    engine_->forward_backward(
        packed, false,
        [&](verlc_micro_batch& micro) {
          session_.first_result("first micro-batch");
          std::vector<int64_t> storage;
          const PackedLayout layout = batch.part(micro.sequence_begin, micro.sequence_count, storage);
          micro.loss =
              sft_loss(layout, {micro.logp, micro.token_count}, counts, {micro.d_logp, micro.token_count})
                  .loss;
        },
        &loss);
  } else {
    std::vector<float> logp(batch.num_tokens());
    engine_->forward_logp(packed, logp);
    for (size_t t = 0; t < logp.size(); ++t)
      if (batch.mask[t] != 0) loss -= static_cast<double>(logp[t]) / counts.tokens;
  }
  session_.reducer().sum({&loss, 1});
  return loss;
}

MetricValues SftTrainer::train_step(uint64_t step) {
  session_.world().set_phase("update_actor");
  const Stopwatch watch;
  double tokens = 0;
  Metrics metrics;
  metrics.put_last("train/loss", loss_over(own_rows(sampler_.next()), true, &tokens));
  const double lr = learning_rate(schedule_, static_cast<int64_t>(step));
  const OptimizerResult result = engine_->optimizer_step(lr, recipe_.actor.optim.clip_grad);
  metrics.put_last("train/lr", lr);
  metrics.put_last("train/grad_norm", result.grad_norm);
  metrics.put_sum("train/global_tokens", tokens);
  metrics.put_last("training/epoch", static_cast<double>(sampler_.epoch()));
  MetricValues values = metrics.reduce(session_.reducer());
  values["training/global_step"] = static_cast<double>(step);
  values["timing_s/step"] = watch.seconds();
  values["perf/throughput"] = values["train/global_tokens"] / watch.seconds() / session_.rank().size;
  return values;
}

void SftTrainer::validate(uint64_t step, MetricValues* values) {
  const size_t rank = static_cast<size_t>(session_.rank().rank),
               ranks = static_cast<size_t>(session_.rank().size);
  const std::vector<MaskedTokens> own(
      held_out_.begin() + static_cast<std::ptrdiff_t>(held_out_.size() * rank / ranks),
      held_out_.begin() + static_cast<std::ptrdiff_t>(held_out_.size() * (rank + 1) / ranks));
  double tokens = 0;
  (*values)["val/loss"] = loss_over(pack_sequences(own), false, &tokens);
  record_.note(fmt::format("step {}: held-out loss {:.4f}", step, (*values)["val/loss"]));
}

nlohmann::json SftTrainer::state() const {
  return {
      {"sampler", sampler_.state()}, {"engine", recipe_.actor.strategy}, {"recipe", hash_recipe(recipe_)}};
}

bool SftTrainer::due(uint64_t step, int64_t every) const {
  return step == sampler_.total_steps() || (every > 0 && step % static_cast<uint64_t>(every) == 0);
}

void SftTrainer::save(uint64_t step) {
  if (step == saved_step_) return;
  record_.sync();
  checkpointer_.save(step, *engine_, state());
  saved_step_ = step;
}

int SftTrainer::run() {
  const std::optional<std::filesystem::path> from = checkpointer_.find_resume();
  if (from) {
    sampler_.restore(checkpointer_.load(*from, *engine_).value("sampler", nlohmann::json()));
    saved_step_ = sampler_.steps_done();
  }
  record_.begin(sampler_.total_steps(), sampler_.steps_done());
  if (from) record_.note(fmt::format("resumed from {} (step {})", from->string(), sampler_.steps_done()));
  if (sampler_.complete())
    record_.note(fmt::format("already complete: all {} steps are done", sampler_.total_steps()));
  while (!sampler_.complete()) {
    const uint64_t step = sampler_.steps_done() + 1;
    const Stopwatch watch;
    MetricValues values = train_step(step);
    if (!held_out_.empty() && due(step, recipe_.trainer.test_freq)) validate(step, &values);
    record_.step(step, values, watch.seconds());
    if (due(step, recipe_.trainer.save_freq)) save(step);
    if (!sampler_.complete() && session_.stop_requested()) {
      save(step);
      record_.note(fmt::format("stopped after step {}; its checkpoint is written", step));
      return 130;
    }
  }
  checkpointer_.export_model(*engine_, checkpointer_.folder().exported());
  record_.note(fmt::format("model written to {}", checkpointer_.folder().exported().string()));
  record_.end("", std::nullopt, std::nullopt);
  return 0;
}

}  // namespace verlc::pipeline
