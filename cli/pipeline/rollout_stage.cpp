#include "pipeline/rollout_stage.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/base/weights_digest.hpp"
#include "verlc/plugin.hpp"

namespace verlc::pipeline {
namespace {

constexpr std::chrono::milliseconds kPollTime{200};

void add_to_digest(WeightsDigest& digest, std::span<const verlc_named_tensor* const> bucket) {
  for (const verlc_named_tensor* named : bucket) {
    const verlc_tensor& tensor = named->tensor->tensor;
    digest.add(plugin::to_view(named->name), plugin::element_name(plugin::element_type(tensor)),
               plugin::shape_of(tensor), plugin::raw_data(tensor), plugin::num_bytes(tensor));
  }
}

std::vector<RolloutRequest> make_requests(std::span<const std::shared_ptr<const Prompt>> prompts,
                                          const GenerationPlan& plan) {
  std::vector<RolloutRequest> requests;
  for (size_t p = 0; p < prompts.size(); ++p)
    for (int64_t i = 0; i < plan.samples_per_prompt; ++i) {
      RolloutRequest request;
      request.id = requests.size() + 1;
      // By the place in the global batch: the same tokens for any number of ranks.
      request.seed =
          mix_seed(mix_seed(plan.seed, plan.step), mix_seed(prompts[p]->place, static_cast<uint64_t>(i)));
      request.prefix = p + 1;
      request.prompt = prompts[p]->tokens;
      request.sampling = &plan.sampling;
      requests.push_back(request);
    }
  return requests;
}

}  // namespace

const char* rollout_state_name(RolloutState state) {
  switch (state) {
    case RolloutState::loaded:
      return "loaded";
    case RolloutState::serving:
      return "serving";
    case RolloutState::asleep:
      return "asleep";
    case RolloutState::updating:
      return "updating";
  }
  return "unknown";
}

RolloutStage::RolloutStage(std::unique_ptr<RolloutEngine> engine, const TextCodec& codec)
    : engine_(std::move(engine)), codec_(codec) {}

void RolloutStage::require(RolloutState wanted, const char* operation) const {
  if (state_ != wanted)
    fail_run({.what = std::string("rollout must be ") + rollout_state_name(wanted) + " to " + operation,
              .where = "rollout",
              .value = rollout_state_name(state_),
              .fix = {}});
}

std::string RolloutStage::update_weights(TrainEngine& trainer, uint64_t version, uint64_t bucket_bytes) {
  if (state_ == RolloutState::updating) require(RolloutState::serving, "update its weights");
  const bool was_asleep = state_ == RolloutState::asleep;
  if (was_asleep) engine_->wake(VERLC_PART_PARAM);
  state_ = RolloutState::updating;
  WeightsDigest sent;
  WeightUpdate update(*engine_, version);
  trainer.export_weights(bucket_bytes, [&](std::span<const verlc_named_tensor* const> bucket) {
    add_to_digest(sent, bucket);
    update.part(bucket);
  });
  update.commit();
  const std::string held = engine_->digest();
  if (held != sent.hex())
    fail_run({.what = "rollout holds other weights than the trainer sent",
              .where = "weight update " + std::to_string(version),
              .value = "trainer " + sent.hex() + ", rollout " + held,
              .fix = {}});
  if (was_asleep) engine_->wake(VERLC_PART_KV);
  state_ = RolloutState::serving;
  version_ = version;
  return held;
}

void RolloutStage::submit_all(std::span<const RolloutRequest> requests, std::vector<Completion>& done) {
  while (!requests.empty()) {
    requests = requests.subspan(engine_->submit(requests));
    if (!requests.empty()) engine_->poll(done, 64, kPollTime);
  }
}

std::vector<Sample> RolloutStage::generate(std::span<const std::shared_ptr<const Prompt>> prompts,
                                           const GenerationPlan& plan) {
  require(RolloutState::serving, "generate");
  const std::vector<RolloutRequest> requests = make_requests(prompts, plan);
  std::vector<Completion> done;
  submit_all(requests, done);
  bool aborted = false;
  while (done.size() < requests.size()) {
    const Outcome outcome = engine_->poll(done, 64, kPollTime);
    if (outcome == Outcome::end && done.size() < requests.size())
      fail_run({.what = "rollout ended with requests unanswered",
                .where = "rollout",
                .value = std::to_string(done.size()) + " of " + std::to_string(requests.size()),
                .fix = {}});
    if (plan.progress) plan.progress(done.size(), requests.size());
    if (!aborted && plan.stop && plan.stop()) {
      std::vector<uint64_t> ids(requests.size());
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = requests[i].id;
      engine_->abort(ids);
      aborted = true;
    }
  }
  std::vector<Sample> samples(requests.size());
  const auto n = static_cast<size_t>(plan.samples_per_prompt);
  for (Completion& completion : done) {
    const auto i = static_cast<size_t>(completion.id - 1);
    Sample& sample = samples[i];
    sample.prompt = prompts[i / n];
    sample.number = i % n;
    sample.finish = completion.finish;
    sample.text = codec_.decode(completion.tokens);
    sample.response = std::move(completion.tokens);
    sample.logp = std::move(completion.logp);
    if (sample.finish == Finish::error)
      fail_run({.what = "rollout could not finish a request",
                .where = "rollout",
                .value = "prompt row " + std::to_string(sample.prompt->row),
                .fix = {}});
  }
  return samples;
}

void RolloutStage::sleep() {
  require(RolloutState::serving, "sleep");
  engine_->sleep(VERLC_PART_PARAM | VERLC_PART_KV);
  state_ = RolloutState::asleep;
}

}  // namespace verlc::pipeline
