#include "pipeline/grpo_trainer.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "pipeline/engines.hpp"

namespace verlc::pipeline {
namespace {

RowSamplerConfig sampler_config(const Recipe& recipe, const PromptDataset& data) {
  RowSamplerConfig config;
  config.rows = data.rows.size();
  config.batch_size = static_cast<size_t>(recipe.data.train_batch_size);
  config.seed = static_cast<uint64_t>(recipe.data.seed.value_or(recipe.seed));
  config.shuffle = recipe.data.shuffle;
  config.epochs = static_cast<uint64_t>(recipe.trainer.total_epochs);
  if (recipe.trainer.total_training_steps)
    config.total_steps = static_cast<uint64_t>(*recipe.trainer.total_training_steps);
  config.digest = data.digest;
  return config;
}

TextCodec read_tokenizer(const Recipe& recipe, Session& session) {
  session.world().set_phase("tokenizer");
  return TextCodec::from_recipe(recipe);
}

PromptDataset read_rows(const Recipe& recipe, Session& session, const TextCodec& codec,
                        const RewardStage& rewards, std::vector<std::vector<int32_t>>* tokens) {
  session.world().set_phase("rows");
  return load_prompt_rows(recipe, recipe.data.train_files, recipe.data.train_max_samples, codec, rewards,
                          tokens);
}

KlControlParams kl_params(const KlControlSection& section) {
  return {section.type == "adaptive", section.kl_coef, section.target_kl,
          static_cast<double>(section.horizon)};
}

}  // namespace

GrpoTrainer::GrpoTrainer(const Recipe& recipe, Session& session)
    : recipe_(recipe),
      session_(session),
      codec_(read_tokenizer(recipe, session)),
      rewards_(session, recipe.reward),
      data_(read_rows(recipe, session, codec_, rewards_, &prompt_tokens_)),
      validation_(recipe, session, codec_, rewards_),
      sampler_(sampler_config(recipe, data_)),
      mini_(recipe.data.train_batch_size, recipe.actor.ppo_mini_batch_size),
      checkpointer_(recipe, session),
      record_(recipe, session),
      estimators_(make_advantage_registry()),
      kl_(kl_params(recipe.algorithm.kl_ctrl)) {
  session_.world().set_phase("load actor");
  actor_ = make_train_engine(session_, recipe.actor.strategy, actor_config(recipe));
  // Reads config.json, so once.
  balance_ = balance_params(recipe, recipe.actor.use_prefix_grouper && actor_->takes_shared_prefix());
  if (recipe.needs_reference())
    reference_ = make_train_engine(session_, recipe.actor.strategy, reference_config(recipe));
  session_.world().set_phase("load rollout");
  rollout_ = std::make_unique<RolloutStage>(
      make_rollout_engine(session_, recipe.rollout.name, rollout_config(recipe)), codec_, session_.threads(),
      recipe.rollout.dtype);
  updater_ = std::make_unique<ActorUpdate>(recipe_, session_, *actor_, sampler_.total_steps());
}

nlohmann::json GrpoTrainer::state() const {
  return {{"sampler", sampler_.state()},
          {"kl_ctrl", kl_.state()},
          {"accuracy_before", accuracy_before_ ? nlohmann::json(*accuracy_before_) : nlohmann::json()},
          {"tokens", tokens_seen_},
          {"engine", recipe_.actor.strategy},
          {"recipe", hash_recipe(recipe_)}};
}

void GrpoTrainer::restore() {
  const std::optional<std::filesystem::path> from = checkpointer_.find_resume();
  if (from) {
    const nlohmann::json state = checkpointer_.load(*from, *actor_);
    sampler_.restore(state.value("sampler", nlohmann::json()));
    kl_.restore(state.value("kl_ctrl", nlohmann::json()));
    if (state.contains("accuracy_before") && state["accuracy_before"].is_number())
      accuracy_before_ = state["accuracy_before"].get<double>();
    tokens_seen_ = state.value("tokens", uint64_t{0});
    saved_step_ = sampler_.steps_done();
  }
  resume_state_ = state();
  record_.begin(sampler_.total_steps(), sampler_.steps_done());
  if (from) record_.note(fmt::format("resumed from {} (step {})", from->string(), sampler_.steps_done()));
}

void GrpoTrainer::sync_weights(uint64_t version, Metrics* metrics) {
  session_.world().set_phase("update_weights");
  const Stopwatch watch;
  rollout_->update_weights(*actor_, version,
                           static_cast<uint64_t>(recipe_.rollout.update_weights_bucket_megabytes) << 20);
  if (metrics != nullptr) metrics->put_max("timing_s/update_weights", watch.seconds());
}

void GrpoTrainer::validate(uint64_t step, MetricValues* values) {
  const Stopwatch watch;
  const MetricValues result = validation_.run(*rollout_);
  if (step == 0) accuracy_before_ = validation_.last_mean();
  accuracy_after_ = validation_.last_mean();
  record_.note(
      fmt::format("step {}: held-out reward {:.3f} ({:.1f} s)", step, *accuracy_after_, watch.seconds()));
  if (values != nullptr) {
    values->insert(result.begin(), result.end());
    (*values)["timing_s/testing"] = watch.seconds();
  }
}

bool GrpoTrainer::due(uint64_t step, int64_t every) const {
  return step == sampler_.total_steps() || (every > 0 && step % static_cast<uint64_t>(every) == 0);
}

void GrpoTrainer::save(uint64_t step) {
  if (step == saved_step_) return;
  record_.sync();
  checkpointer_.save(step, *actor_, resume_state_);
  saved_step_ = step;
}

void GrpoTrainer::rehearse(uint64_t steps) {
  restore();
  sync_weights(sampler_.steps_done(), nullptr);
  for (uint64_t step = 1; step <= steps; ++step)
    if (!train_step(step)) return;
}

int GrpoTrainer::run() {
  restore();
  sync_weights(sampler_.steps_done(), nullptr);
  if (sampler_.complete()) {
    record_.note(fmt::format("already complete: all {} steps are done", sampler_.total_steps()));
  } else if (sampler_.steps_done() == 0 && recipe_.trainer.val_before_train && !validation_.empty()) {
    MetricValues values;
    validate(0, &values);
    record_.step(0, values, 0);
  }
  while (!sampler_.complete()) {
    const uint64_t step = sampler_.steps_done() + 1;
    if (!train_step(step)) {
      save(step - 1);
      record_.note(step == 1 ? std::string("stopped before the first step; there is nothing to save")
                             : fmt::format("stopped before step {}; checkpoint of step {} is written", step,
                                           step - 1));
      return 130;
    }
    resume_state_ = state();
    if (due(step, recipe_.trainer.save_freq)) save(step);
    if (!sampler_.complete() && session_.stop_requested()) {
      save(step);
      record_.note(fmt::format("stopped after step {}; its checkpoint is written", step));
      return 130;
    }
  }
  checkpointer_.export_model(*actor_, checkpointer_.folder().exported());
  record_.note(fmt::format("model written to {}", checkpointer_.folder().exported().string()));
  record_.end("held-out accuracy", accuracy_before_, accuracy_after_);
  return 0;
}

}  // namespace verlc::pipeline
