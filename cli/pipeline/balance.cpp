#include "pipeline/balance.hpp"

#include <algorithm>
#include <map>

#include "algorithms/advantage.hpp"
#include "pipeline/exchange_samples.hpp"
#include "pipeline/partition.hpp"
#include "recipe/model_facts.hpp"

namespace verlc::pipeline {
namespace {

int64_t prompt_length(const Sample& sample) {
  return static_cast<int64_t>(sample.prompt->tokens.size());
}

int64_t full_length(const Sample& sample) {
  return prompt_length(sample) + static_cast<int64_t>(sample.response.size());
}

// With shared prompts the last token, from which nothing is predicted, is not computed.
SequenceSize size_of(const Sample& sample, bool share_prompts) {
  if (!share_prompts) return {sample.prompt->uid, 0, full_length(sample)};
  return {sample.prompt->uid, prompt_length(sample),
          std::max(prompt_length(sample), full_length(sample) - 1)};
}

// All samples of a prompt.
using Group = std::vector<const Sample*>;

bool is_idle(const Group& group) {
  return std::all_of(group.begin(), group.end(),
                     [&](const Sample* sample) { return sample->score == group.front()->score; });
}

double cost_of(const Group& group, const BalanceParams& params) {
  double work = params.share_prompts ? params.work.of(0, prompt_length(*group.front())) : 0.0;
  for (const Sample* sample : group) {
    const SequenceSize size = size_of(*sample, params.share_prompts);
    work += params.work.of(size.shared, size.length);
  }
  return work * (params.skip_idle && is_idle(group) ? params.idle_weight : params.train_weight);
}

std::map<size_t, Group> groups_by_place(const std::vector<Sample>& samples) {
  std::map<size_t, Group> groups;
  for (const Sample& sample : samples) groups[sample.prompt->place].push_back(&sample);
  return groups;
}

// Cost, tokens and owner of every prompt of the global batch, on every rank.
struct GlobalBatch {
  std::vector<double> costs, tokens;
  std::vector<size_t> owners;
};

GlobalBatch exchange_costs(const std::vector<Sample>& samples, const MiniBatches& mini, int64_t batch_size,
                           const BalanceParams& params, ProcessGroup& group) {
  const auto places = static_cast<size_t>(batch_size);
  std::vector<double> both(2 * places, 0.0);  // each prompt is on one rank: sums are exact
  for (const auto& [place, members] : groups_by_place(samples)) {
    both[place] = cost_of(members, params);
    for (const Sample* sample : members) both[places + place] += static_cast<double>(full_length(*sample));
  }
  group.all_reduce(std::span<double>(both), ReduceOp::sum);
  GlobalBatch all;
  all.costs.assign(both.begin(), both.begin() + static_cast<std::ptrdiff_t>(places));
  all.tokens.assign(both.begin() + static_cast<std::ptrdiff_t>(places), both.end());
  all.owners.assign(places, 0);
  for (int r = 0; r < group.size(); ++r)
    for (const size_t place : mini.places(r, group.size())) all.owners[place] = static_cast<size_t>(r);
  return all;
}

// The rank of every place; each mini-batch is an optimizer step, at whose end ranks wait for each other.
std::vector<size_t> new_ranks(const GlobalBatch& all, const MiniBatches& mini, size_t ranks) {
  std::vector<size_t> result = all.owners;
  for (int64_t m = 0; m < mini.count(); ++m) {
    std::vector<size_t> places, owners;
    std::vector<double> costs;
    for (size_t place = 0; place < all.costs.size(); ++place) {
      if (mini.of(place) != m || all.tokens[place] == 0) continue;
      places.push_back(place);
      owners.push_back(all.owners[place]);
      costs.push_back(all.costs[place]);
    }
    const std::vector<size_t> assigned = assign_to_ranks(costs, owners, ranks);
    for (size_t i = 0; i < places.size(); ++i) result[places[i]] = assigned[i];
  }
  return result;
}

void put_lengths(const GlobalBatch& all, std::span<const size_t> after, size_t ranks, Metrics& metrics) {
  const std::vector<double> before = part_costs(all.tokens, all.owners, ranks),
                            balanced = part_costs(all.tokens, after, ranks);
  const auto [low, high] = std::minmax_element(before.begin(), before.end());
  const auto [low_after, high_after] = std::minmax_element(balanced.begin(), balanced.end());
  double sum = 0;
  for (const double tokens : before) sum += tokens;
  metrics.put_last("global_seqlen/min", *low);
  metrics.put_last("global_seqlen/max", *high);
  metrics.put_last("global_seqlen/minmax_diff", *high - *low);
  metrics.put_last("global_seqlen/balanced_min", *low_after);
  metrics.put_last("global_seqlen/balanced_max", *high_after);
  metrics.put_last("global_seqlen/mean", sum / static_cast<double>(ranks));
}

// Work of the rank with most of it over the mean, summed over mini-batches: 1 = no rank waits for another.
double work_ratio(const GlobalBatch& all, std::span<const size_t> rank_of, const MiniBatches& mini,
                  size_t ranks) {
  double most = 0, total = 0;
  for (int64_t m = 0; m < mini.count(); ++m) {
    std::vector<double> sums(ranks, 0.0);
    for (size_t place = 0; place < all.costs.size(); ++place)
      if (mini.of(place) == m) sums[rank_of[place]] += all.costs[place];
    most += *std::max_element(sums.begin(), sums.end());
    for (const double sum : sums) total += sum;
  }
  return total > 0 ? most * static_cast<double>(ranks) / total : 1.0;
}

// Positions of the samples of each mini-batch: first those to train on, then the idle ones.
struct MiniBatchSamples {
  std::vector<size_t> trained, idle;
  std::vector<SequenceSize> sizes;  // of the trained
};

std::vector<MiniBatchSamples> split(const std::vector<Sample>& samples, const MiniBatches& mini,
                                    const BalanceParams& params) {
  const std::map<size_t, Group> groups = groups_by_place(samples);
  std::vector<MiniBatchSamples> result(static_cast<size_t>(mini.count()));
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t place = samples[i].prompt->place;
    MiniBatchSamples& part = result[static_cast<size_t>(mini.of(place))];
    if (params.skip_idle && is_idle(groups.at(place))) {
      part.idle.push_back(i);
    } else {
      part.trained.push_back(i);
      part.sizes.push_back(size_of(samples[i], params.share_prompts));
    }
  }
  return result;
}

std::vector<SequenceSize> in_order(const std::vector<SequenceSize>& sizes, std::span<const size_t> order) {
  std::vector<SequenceSize> result;
  for (const size_t i : order) result.push_back(sizes[i]);
  return result;
}

void order_for_micro_batches(std::vector<Sample>& samples, const MiniBatches& mini,
                             const BalanceParams& params, ProcessGroup& group) {
  const std::vector<MiniBatchSamples> parts = split(samples, mini, params);
  std::vector<double> runs;  // micro-batches of each mini-batch: the most of any rank
  for (const MiniBatchSamples& part : parts) {
    const std::vector<size_t> order = micro_order(part.sizes, params.micro_tokens, 1);
    runs.push_back(static_cast<double>(cut_runs(in_order(part.sizes, order), params.micro_tokens).count));
  }
  group.all_reduce(std::span<double>(runs), ReduceOp::max);
  std::vector<Sample> ordered;
  for (size_t m = 0; m < parts.size(); ++m) {
    for (const size_t i : micro_order(parts[m].sizes, params.micro_tokens, static_cast<size_t>(runs[m])))
      ordered.push_back(std::move(samples[parts[m].trained[i]]));
    for (const size_t i : parts[m].idle) ordered.push_back(std::move(samples[i]));
  }
  samples = std::move(ordered);
}

// What a pass computes of each packed sequence.
std::vector<SequenceSize> packed_sizes(const PackedSamples& batch) {
  std::vector<SequenceSize> sizes;
  for (size_t s = 0; s < batch.num_sequences(); ++s) {
    const int64_t begin = batch.bounds[s], length = batch.bounds[s + 1] - begin;
    if (batch.shared_prefix.empty()) {
      sizes.push_back({s, 0, length});
      continue;
    }
    int64_t last = length - 1;
    while (last > 0 && batch.mask[static_cast<size_t>(begin + last)] == 0) --last;
    const int64_t shared = batch.shared_prefix[2 * s + 1];
    sizes.push_back({static_cast<uint64_t>(batch.shared_prefix[2 * s]), shared, std::max(shared, last)});
  }
  return sizes;
}

}  // namespace

WorkModel WorkModel::of_model(const Recipe& recipe) {
  std::string fault;
  const std::optional<ModelFacts> facts = read_model_facts(recipe.model.path, fault);
  if (!facts || !facts->hidden_size || !facts->num_layers || !facts->num_heads || !facts->head_dim) return {};
  const auto hidden = static_cast<double>(*facts->hidden_size),
             layers = static_cast<double>(*facts->num_layers);
  const double head = hidden * static_cast<double>(facts->vocab_size.value_or(0));
  const double attended =
      layers * static_cast<double>(*facts->num_heads) * static_cast<double>(*facts->head_dim);
  return {2 * attended / (layers * 12 * hidden * hidden + head)};
}

double WorkModel::of(int64_t first, int64_t last) const {
  const auto a = static_cast<double>(first), b = static_cast<double>(last);
  return b - a + attention * (b * b - a * a) / 2;
}

BalanceParams balance_params(const Recipe& recipe, bool share_prompts) {
  BalanceParams params;
  const ActorSection& actor = recipe.actor;
  params.move = recipe.trainer.balance_batch;
  params.share_prompts = share_prompts;
  // A KL in the rewards makes equal ones unequal.
  const AdvantageRegistry estimators = make_advantage_registry();
  params.skip_idle =
      recipe.algorithm.skip_zero_advantage_groups.value_or(false) && !recipe.has_kl_in_reward() &&
      estimators.find(recipe.algorithm.adv_estimator, "algorithm.adv_estimator").zero_for_equal;
  const double forwards = (actor.old_log_prob == "reuse" ? 0 : 1) + (recipe.needs_reference() ? 1 : 0);
  const auto epochs = static_cast<double>(actor.ppo_epochs);
  params.train_weight = forwards + 3 * epochs;  // a backward is twice a forward
  params.idle_weight = forwards + (actor.calculate_entropy ? epochs : epochs - 1);
  params.micro_tokens = static_cast<int64_t>(actor_limits(recipe).tokens);
  params.work = WorkModel::of_model(recipe);
  return params;
}

void balance_samples(std::vector<Sample>& samples, const MiniBatches& mini, int64_t batch_size,
                     const BalanceParams& params, ProcessGroup& group, Metrics& metrics) {
  const auto ranks = static_cast<size_t>(group.size());
  const GlobalBatch all = exchange_costs(samples, mini, batch_size, params, group);
  const std::vector<size_t> rank_of = params.move ? new_ranks(all, mini, ranks) : all.owners;
  if (rank_of != all.owners) {
    std::vector<size_t> destinations;
    for (const Sample& sample : samples) destinations.push_back(rank_of[sample.prompt->place]);
    samples = exchange_samples(std::move(samples), destinations, group);
  }
  put_lengths(all, rank_of, ranks, metrics);
  metrics.put_last("balance/work_ratio_before", work_ratio(all, all.owners, mini, ranks));
  metrics.put_last("balance/work_ratio", work_ratio(all, rank_of, mini, ranks));
  if (params.micro_tokens > 0) order_for_micro_batches(samples, mini, params, group);
}

MicroLimits even_limits(const MicroLimits& limits, const PackedSamples& batch, GroupReducer& group) {
  if (limits.tokens == 0) return limits;
  const std::vector<SequenceSize> sizes = packed_sizes(batch);
  const auto budget = static_cast<int64_t>(limits.tokens);
  auto runs = static_cast<double>(cut_runs(sizes, budget).count);
  group.max(std::span<double>(&runs, 1));
  return {limits.sequences, static_cast<uint64_t>(even_budget(sizes, budget, static_cast<size_t>(runs)))};
}

}  // namespace verlc::pipeline
