#include "pipeline/validation.hpp"

#include "data/length_limit.hpp"

namespace verlc::pipeline {
namespace {

// Apart from every training seed.
constexpr uint64_t kValidationSeed = 0x76616C6964617465;

SamplingParameters val_sampling(const Recipe& recipe) {
  const ValKwargsSection& kwargs = recipe.rollout.val_kwargs;
  SamplingParameters sampling;
  sampling.temperature = kwargs.temperature;
  sampling.top_p = kwargs.top_p;
  sampling.top_k = kwargs.top_k;
  sampling.max_new_tokens = kwargs.max_new_tokens.value_or(recipe.data.max_response_length);
  return sampling;
}

}  // namespace

PromptDataset load_prompt_rows(const Recipe& recipe, const std::vector<std::string>& files,
                               int64_t max_samples, const TextCodec& codec, const RewardStage& rewards,
                               std::vector<std::vector<int32_t>>* tokens) {
  PromptSchema schema;
  schema.prompt_key = recipe.data.prompt_key;
  schema.require_data_source = recipe.reward.plugin.empty() && recipe.reward.name == "auto";
  schema.max_samples = max_samples;
  const std::vector<std::filesystem::path> paths(files.begin(), files.end());
  PromptDataset data = load_prompts(paths, schema);
  std::vector<int64_t> lengths;
  std::vector<std::vector<int32_t>> ids;
  for (const PromptRow& row : data.rows) {
    ids.push_back(codec.encode_prompt(row));
    lengths.push_back(static_cast<int64_t>(ids.back().size()));
  }
  limit_lengths(
      data, lengths,
      {recipe.data.max_prompt_length, "data.max_prompt_length", recipe.data.filter_overlong_prompts});
  tokens->clear();
  for (std::vector<int32_t>& row : ids)
    if (static_cast<int64_t>(row.size()) <= recipe.data.max_prompt_length) tokens->push_back(std::move(row));
  rewards.check_labels(data);
  return data;
}

Validation::Validation(const Recipe& recipe, Session& session, const TextCodec& codec, RewardStage& rewards)
    : recipe_(recipe), session_(session), rewards_(rewards) {
  if (recipe.data.val_files.empty()) return;
  std::vector<std::vector<int32_t>> tokens;
  data_ =
      load_prompt_rows(recipe, recipe.data.val_files, recipe.data.val_max_samples, codec, rewards, &tokens);
  for (size_t i = 0; i < tokens.size(); ++i)
    prompts_.push_back(std::make_shared<const Prompt>(Prompt{i, i, i, std::move(tokens[i])}));
}

MetricValues Validation::run(RolloutStage& rollout) {
  session_.world().set_phase("testing");
  const auto rank = static_cast<size_t>(session_.rank().rank),
             ranks = static_cast<size_t>(session_.rank().size);
  const size_t begin = prompts_.size() * rank / ranks, end = prompts_.size() * (rank + 1) / ranks;
  const std::string at = "mean@" + std::to_string(recipe_.rollout.val_kwargs.n);
  Metrics metrics;
  // Every rank declares every name, whatever rows it holds.
  for (const PromptRow& row : data_.rows)
    metrics.declare("val-core/" + row.data_source + "/reward/" + at, MetricKind::mean);
  metrics.declare("val-core/reward/" + at, MetricKind::mean);
  metrics.declare("val-aux/response_length/mean", MetricKind::mean);
  metrics.declare("val-aux/scorer_errors", MetricKind::sum);
  const auto batch =
      static_cast<size_t>(recipe_.data.val_batch_size.value_or(static_cast<int64_t>(prompts_.size())));
  const size_t step = std::max<size_t>(1, batch / ranks);
  for (size_t first = begin; first < end; first += step) {
    GenerationPlan plan;
    plan.samples_per_prompt = recipe_.rollout.val_kwargs.n;
    plan.sampling = val_sampling(recipe_);
    plan.progress = [this](size_t finished, size_t) {
      if (finished > 0) session_.first_result("first response");
    };
    plan.seed = kValidationSeed ^ static_cast<uint64_t>(recipe_.seed);
    std::vector<Sample> samples =
        rollout.generate(std::span(prompts_).subspan(first, std::min(step, end - first)), plan);
    const RewardOutcome outcome = rewards_.score(samples, data_);
    metrics.put_sum("val-aux/scorer_errors", static_cast<double>(outcome.errors));
    for (const Sample& sample : samples) {
      metrics.put_mean("val-aux/response_length/mean", static_cast<double>(sample.response.size()));
      if (!sample.scored) continue;
      metrics.put_mean("val-core/" + data_.rows[sample.prompt->row].data_source + "/reward/" + at,
                       sample.score);
      metrics.put_mean("val-core/reward/" + at, sample.score);
    }
  }
  MetricValues values = metrics.reduce(session_.reducer());
  last_mean_ = values.contains("val-core/reward/" + at) ? values["val-core/reward/" + at] : 0.0;
  return values;
}

}  // namespace verlc::pipeline
