#include "pipeline/rollout_stage.hpp"

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/rng.hpp"
#include "core/base/weights_digest.hpp"
#include "pipeline/narrow_bucket.hpp"
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

// What a prompt's sequences will hold in the end: the last to be begun should be short.
int64_t longest_first(const Prompt& prompt, const GenerationPlan& plan) {
  const auto length = static_cast<int64_t>(prompt.tokens.size());
  return length + (plan.expected_length ? plan.expected_length(prompt) : 0);
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
      request.priority = longest_first(*prompts[p], plan);
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

RolloutStage::RolloutStage(std::unique_ptr<RolloutEngine> engine, const TextCodec& codec, Executor& threads,
                           const std::string& dtype)
    : engine_(std::move(engine)), codec_(codec), threads_(threads), narrow_(dtype != "float32") {}

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
    const NarrowBucket narrow(threads_, narrow_ ? bucket : std::span<const verlc_named_tensor* const>());
    const auto weights = narrow_ ? narrow.weights() : bucket;
    add_to_digest(sent, weights);
    update.part(weights);
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

// The samples of a call of generate(), filled in as they finish.
class RolloutStage::Collector {
 public:
  Collector(std::span<const std::shared_ptr<const Prompt>> prompts, const GenerationPlan& plan,
            const TextCodec& codec, size_t total)
      : prompts_(prompts), plan_(plan), codec_(codec), samples_(total) {}

  [[nodiscard]] size_t num_done() const { return num_done_; }
  [[nodiscard]] size_t total() const { return samples_.size(); }
  std::vector<Sample> take() { return std::move(samples_); }

  void add(std::vector<Completion>& completions) {
    for (Completion& completion : completions) add(completion);
    completions.clear();
  }

 private:
  void add(Completion& completion) {
    const auto i = static_cast<size_t>(completion.id - 1), n = static_cast<size_t>(plan_.samples_per_prompt);
    Sample& sample = samples_[i];
    sample.prompt = prompts_[i / n];
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
    ++num_done_;
    if (plan_.sample_done) plan_.sample_done(i, sample);
  }

  std::span<const std::shared_ptr<const Prompt>> prompts_;
  const GenerationPlan& plan_;
  const TextCodec& codec_;
  std::vector<Sample> samples_;
  size_t num_done_ = 0;
};

Outcome RolloutStage::poll(Collector& collector) {
  std::vector<Completion> completions;
  const Outcome outcome = engine_->poll(completions, 64, kPollTime);
  collector.add(completions);
  return outcome;
}

void RolloutStage::submit_all(std::span<const RolloutRequest> requests, Collector& collector) {
  while (!requests.empty()) {
    requests = requests.subspan(engine_->submit(requests));
    if (!requests.empty()) poll(collector);
  }
}

std::vector<Sample> RolloutStage::generate(std::span<const std::shared_ptr<const Prompt>> prompts,
                                           const GenerationPlan& plan) {
  require(RolloutState::serving, "generate");
  const std::vector<RolloutRequest> requests = make_requests(prompts, plan);
  Collector collector(prompts, plan, codec_, requests.size());
  submit_all(requests, collector);
  bool aborted = false;
  while (collector.num_done() < collector.total()) {
    const Outcome outcome = poll(collector);
    if (outcome == Outcome::end && collector.num_done() < collector.total())
      fail_run({.what = "rollout ended with requests unanswered",
                .where = "rollout",
                .value = std::to_string(collector.num_done()) + " of " + std::to_string(collector.total()),
                .fix = {}});
    if (plan.progress) plan.progress(collector.num_done(), collector.total());
    if (!aborted && plan.stop && plan.stop()) {
      std::vector<uint64_t> ids(requests.size());
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = requests[i].id;
      engine_->abort(ids);
      aborted = true;
    }
  }
  return collector.take();
}

void RolloutStage::sleep() {
  require(RolloutState::serving, "sleep");
  engine_->sleep(VERLC_PART_PARAM | VERLC_PART_KV);
  state_ = RolloutState::asleep;
}

}  // namespace verlc::pipeline
