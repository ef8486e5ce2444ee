// The phases of one step of GrpoTrainer, in order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "algorithms/filters.hpp"
#include "core/base/error.hpp"
#include "pipeline/grpo_trainer.hpp"
#include "track/rollout_file.hpp"

namespace verlc::pipeline {

struct GrpoTrainer::Step {
  uint64_t number = 0;
  Stopwatch watch;
  Metrics metrics;
  std::vector<std::shared_ptr<const Prompt>> prompts;
  std::vector<Sample> samples;
  std::unique_ptr<BackgroundScoring> scoring;  // of the samples, while they are generated
  PackedSamples packed;
  std::vector<float> rewards;  // [T], token level
  AdvantageOutput advantage;
  std::map<std::string, double> seconds;
  MetricValues update;  // of the actor, reduced already
};

bool GrpoTrainer::train_step(uint64_t number) {
  Step step;
  step.number = number;
  draw(step);
  if (!generate(step)) {
    // The rows go back: a resume draws them again.
    sampler_.restore(resume_state_["sampler"]);
    return false;
  }
  score(step);
  drop_unusable(step);
  balance_samples(step.samples, mini_, recipe_.data.train_batch_size, balance_, session_.world(),
                  step.metrics);
  step.packed = pack_samples(step.samples, recipe_.rollout.temperature, balance_.share_prompts);
  log_probs(step);
  advantages(step);
  update(step);
  sync_weights(number, &step.metrics);
  finish(step);
  return true;
}

void GrpoTrainer::draw(Step& step) {
  const std::vector<uint32_t> rows = sampler_.next();
  for (const size_t place : mini_.places(session_.rank().rank, session_.rank().size)) {
    const size_t row = rows[place];
    const uint64_t uid = (step.number << 24) + place;
    step.prompts.push_back(std::make_shared<const Prompt>(Prompt{uid, row, place, prompt_tokens_[row]}));
  }
}

bool GrpoTrainer::generate(Step& step) {
  session_.world().set_phase("gen");
  const Stopwatch watch;
  GenerationPlan plan;
  plan.samples_per_prompt = recipe_.rollout.n;
  plan.sampling.temperature = recipe_.rollout.temperature;
  plan.sampling.max_new_tokens = recipe_.data.max_response_length;
  plan.seed = static_cast<uint64_t>(recipe_.seed);
  plan.step = step.number;
  plan.stop = [this] { return session_.cancel().requested(); };
  plan.progress = [this](size_t finished, size_t) {
    if (finished > 0) session_.first_result("first response");
  };
  step.scoring = std::make_unique<BackgroundScoring>(
      [this](std::span<const ScoringJob> jobs) { return rewards_.judge(jobs, data_); });
  plan.expected_length = [this](const Prompt& prompt) { return hints_.expected(prompt.row); };
  plan.sample_done = [&step](size_t index, const Sample& sample) {
    if (sample.finish != Finish::aborted) step.scoring->push(index, sample);
  };
  step.samples = rollout_->generate(step.prompts, plan);
  // Asked before the ranks wait for each other, so that the time is this rank's own.
  step.seconds["timing_s/gen"] = watch.seconds();
  return !session_.stop_requested();
}

void GrpoTrainer::score(Step& step) {
  session_.world().set_phase("reward");
  if (recipe_.rollout.free_cache_engine) rollout_->sleep();
  const Stopwatch watch;
  const RewardOutcome outcome = rewards_.settle(step.samples, step.scoring->finish(step.samples), data_);
  for (const Sample& sample : step.samples) hints_.note(sample.prompt->row, sample.response.size());
  double counts[2] = {static_cast<double>(outcome.errors), static_cast<double>(step.samples.size())};
  session_.reducer().sum(counts);
  const double rate = counts[1] > 0 ? counts[0] / counts[1] : 0;
  step.metrics.put_last("reward/error_rate", rate);
  if (rate > recipe_.reward.max_error_rate)
    fail_run({.what = fmt::format("{:.1f} % of the responses could not be scored", 100 * rate),
              .where = "reward.max_error_rate",
              .value = fmt::format("{}", recipe_.reward.max_error_rate),
              .fix = outcome.first_error});
  step.seconds["timing_s/reward"] = watch.seconds();
  put_sample_metrics(step);
}

void GrpoTrainer::put_sample_metrics(Step& step) {
  std::vector<double> scores, lengths, prompt_lengths;
  double clipped = 0;
  for (const Sample& sample : step.samples) {
    if (sample.scored) scores.push_back(sample.score);
    lengths.push_back(static_cast<double>(sample.response.size()));
    prompt_lengths.push_back(static_cast<double>(sample.prompt->tokens.size()));
    clipped += sample.finish == Finish::length ? 1 : 0;
  }
  step.metrics.put_spread("critic/score", scores);
  step.metrics.put_spread("response_length", lengths);
  step.metrics.put_mean("response_length/clip_ratio", clipped, static_cast<double>(lengths.size()));
  step.metrics.put_spread("prompt_length", prompt_lengths);
  if (!recipe_.trainer.rollout_data) return;
  std::vector<RolloutRecord> records;
  for (const Sample& sample : step.samples) {
    const PromptRow& row = data_.rows[sample.prompt->row];
    RolloutRecord record;
    record.input = codec_.prompt_text(row);
    record.output = sample.text;
    record.ground_truth_text = row.ground_truth_text.empty() ? "null" : row.ground_truth_text;
    if (sample.scored) record.score = sample.score;
    records.push_back(std::move(record));
  }
  write_rollouts(checkpointer_.folder().rollouts(), step.number, static_cast<size_t>(session_.rank().rank),
                 static_cast<size_t>(session_.rank().size), records);
}

// Unscored samples, and those that are alone in their group after that, have nothing to be compared with.
void GrpoTrainer::drop_unusable(Step& step) {
  std::erase_if(step.samples, [](const Sample& sample) { return !sample.scored; });
  std::vector<uint64_t> uids;
  std::vector<double> scores;
  for (const Sample& sample : step.samples) uids.push_back(sample.prompt->uid);
  const std::vector<uint8_t> lone = lone_samples(uids);
  std::vector<Sample> kept;
  for (size_t i = 0; i < step.samples.size(); ++i)
    if (lone[i] == 0) kept.push_back(std::move(step.samples[i]));
  step.samples = std::move(kept);
  uids.clear();
  for (const Sample& sample : step.samples) {
    uids.push_back(sample.prompt->uid);
    scores.push_back(sample.score);
  }
  double idle = 0;
  for (const uint8_t zero : zero_variance_samples(scores, uids)) idle += zero;
  step.metrics.put_mean("training/zero_advantage_ratio", idle, static_cast<double>(uids.size()));
}

void GrpoTrainer::log_probs(Step& step) {
  PackedSamples& packed = step.packed;
  if (recipe_.actor.old_log_prob != "reuse") {
    session_.world().set_phase("old_log_prob");
    const Stopwatch watch;
    const MicroLimits limits = even_limits(actor_limits(recipe_), packed, session_.reducer());
    std::vector<float> again(packed.num_tokens());
    actor_->forward_logp(packed.batch(limits.sequences, limits.tokens), again);
    const bool equal =
        again.empty() || std::memcmp(again.data(), packed.old_logp.data(), again.size() * sizeof(float)) == 0;
    if (recipe_.actor.old_log_prob == "verify" && !equal)
      fail_run({.what = "the trainer's log-probs differ from the rollout's",
                .where = "actor.old_log_prob",
                .value = "verify",
                .fix = "set it to recompute to train on all the same, and report this as a fault"});
    if (recipe_.actor.old_log_prob == "recompute")
      put_rollout_gap(again, packed.old_logp, packed.mask, step.metrics);
    packed.old_logp = std::move(again);
    step.seconds["timing_s/old_log_prob"] = watch.seconds();
  }
  if (reference_) {
    session_.world().set_phase("ref");
    const Stopwatch watch;
    const MicroLimits limits = even_limits(reference_limits(recipe_), packed, session_.reducer());
    packed.ref_logp.assign(packed.num_tokens(), 0.0f);
    reference_->forward_logp(packed.batch(limits.sequences, limits.tokens), packed.ref_logp);
    step.seconds["timing_s/ref"] = watch.seconds();
  }
}

void GrpoTrainer::advantages(Step& step) {
  session_.world().set_phase("adv");
  const Stopwatch watch;
  PackedSamples& packed = step.packed;
  const PackedLayout layout = packed.layout();
  step.rewards = place_outcomes(layout, packed.outcomes);
  AdvantageInput input;
  if (recipe_.has_kl_in_reward()) {
    const KlEstimator estimator = parse_kl(recipe_.algorithm.kl_penalty, "algorithm.kl_penalty");
    KlPenaltyResult penalty = apply_kl_penalty(layout, step.rewards, packed.old_logp, packed.ref_logp,
                                               estimator, kl_, session_.reducer());
    step.rewards = std::move(penalty.rewards);
    step.metrics.put_last("actor/reward_kl_penalty", penalty.mean_kl);
    step.metrics.put_last("actor/reward_kl_penalty_coeff", penalty.coef);
  } else {
    input.outcomes = packed.outcomes;
  }
  input.layout = layout;
  input.rewards = step.rewards;
  input.uids = packed.uids;
  AdvantageParams params;
  params.gamma = recipe_.algorithm.gamma;
  params.norm_adv_by_std_in_grpo = recipe_.algorithm.norm_adv_by_std_in_grpo;
  params.ddof = static_cast<int>(recipe_.algorithm.advantage_ddof);
  params.eps = recipe_.algorithm.advantage_epsilon;
  const Advantage& estimator = estimators_.find(recipe_.algorithm.adv_estimator, "algorithm.adv_estimator");
  step.advantage = estimator.compute(input, params, session_.reducer());
  packed.advantages = step.advantage.advantages;
  std::vector<double> rewards = sum_per_sample(layout, step.rewards), values, returns;
  for (size_t t = 0; t < packed.num_tokens(); ++t)
    if (packed.mask[t] != 0) {
      values.push_back(step.advantage.advantages[t]);
      returns.push_back(step.advantage.returns[t]);
    }
  step.metrics.put_spread("critic/rewards", rewards);
  step.metrics.put_spread("critic/advantages", values);
  step.metrics.put_spread("critic/returns", returns);
  step.seconds["timing_s/adv"] = watch.seconds();
}

void GrpoTrainer::update(Step& step) {
  session_.world().set_phase("update_actor");
  const Stopwatch watch;
  std::vector<int64_t> mini;
  for (const Sample& sample : step.samples) mini.push_back(mini_.of(sample.prompt->place));
  step.update = updater_->run(step.number, step.packed, mini, mini_.count());
  step.seconds["timing_s/update_actor"] = watch.seconds();
}

void GrpoTrainer::finish(Step& step) {
  for (const auto& [name, seconds] : step.seconds) step.metrics.put_max(name, seconds);
  const double tokens = static_cast<double>(step.packed.num_tokens());
  step.metrics.put_sum("perf/total_num_tokens", tokens);
  step.metrics.put_last("training/global_step", static_cast<double>(step.number));
  step.metrics.put_last("training/epoch", static_cast<double>(sampler_.epoch()));
  MetricValues values = step.metrics.reduce(session_.reducer());
  values.merge(step.update);
  tokens_seen_ += static_cast<uint64_t>(values["perf/total_num_tokens"]);
  if (!validation_.empty() && due(step.number, recipe_.trainer.test_freq)) validate(step.number, &values);
  const double seconds = step.watch.seconds();
  values["timing_s/step"] = seconds;
  values["perf/time_per_step"] = seconds;
  values["perf/throughput"] = values["perf/total_num_tokens"] / seconds / session_.rank().size;
  record_.step(step.number, values, seconds);
}

}  // namespace verlc::pipeline
