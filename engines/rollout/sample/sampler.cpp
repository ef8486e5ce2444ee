#include "rollout/sample/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/rng.hpp"
#include "core/kernels/cpu/vocab.hpp"
#include "rollout/sample/softmax_weights.hpp"

namespace verlc::rollout {
namespace {

constexpr int32_t kNone = -1;

int32_t largest(std::span<const float> logits) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (*best == -std::numeric_limits<float>::infinity()) return kNone;
  return static_cast<int32_t>(best - logits.begin());
}

}  // namespace

float inverse_temperature(double temperature) {
  return temperature > 0 ? 1.0F / static_cast<float>(temperature) : 1.0F;
}

Sampler::Sampler(size_t vocab) {
  row_.reserve(vocab);
  weights_.reserve(vocab);
  block_sums_.reserve(vocab / static_cast<size_t>(kWeightBlock) + 1);
  kept_.reserve(vocab);
  penalised_.reserve(vocab);
}

SampledToken Sampler::choose(std::span<const float> logits, const SampleInput& input) {
  const float inv_temperature = inverse_temperature(input.sampling->temperature);
  const float lse =
      kernels::row_log_sum_exp(logits.data(), static_cast<int64_t>(logits.size()), inv_temperature);
  if (!std::isfinite(lse)) return {0, 0, false};
  const std::span<const float> row = edited(logits, input);
  const int32_t token = input.sampling->temperature > 0 ? draw(row, input, inv_temperature) : largest(row);
  if (token == kNone) return {0, 0, false};
  return {token, kernels::row_logprob(logits[static_cast<size_t>(token)], inv_temperature, lse), true};
}

std::span<const float> Sampler::edited(std::span<const float> logits, const SampleInput& input) {
  const double penalty = input.sampling->repetition_penalty;
  if (penalty == 1 && input.forbidden.empty()) return logits;
  row_.assign(logits.begin(), logits.end());
  if (penalty != 1) {
    penalised_.assign(logits.size(), 0);
    const auto factor = static_cast<float>(penalty);
    for (const int32_t id : input.seen) {
      const auto i = static_cast<size_t>(id);
      if (penalised_[i] != 0) continue;
      penalised_[i] = 1;
      row_[i] = row_[i] > 0 ? row_[i] / factor : row_[i] * factor;
    }
  }
  for (const int32_t id : input.forbidden)
    if (id >= 0 && static_cast<size_t>(id) < row_.size())
      row_[static_cast<size_t>(id)] = -std::numeric_limits<float>::infinity();
  return row_;
}

int32_t Sampler::draw(std::span<const float> logits, const SampleInput& input, float inv_temperature) {
  const auto vocab = static_cast<int64_t>(logits.size());
  const float max = scaled_max(logits.data(), vocab, inv_temperature);
  if (!std::isfinite(max)) return kNone;
  weights_.resize(logits.size());
  block_sums_.resize(static_cast<size_t>((vocab + kWeightBlock - 1) / kWeightBlock));
  softmax_weights(logits.data(), vocab, inv_temperature, max, weights_.data(), block_sums_.data());
  const double uniform = RandomStream(input.seed, Purpose::sample, 0, input.index).uniform();
  if (!filters(*input.sampling)) return draw_from_blocks(uniform);
  filter_.keep(weights_, *input.sampling, kept_);
  return draw_from_kept(uniform);
}

int32_t Sampler::draw_from_blocks(double uniform) const {
  double total = 0;
  for (const float sum : block_sums_) total += sum;
  if (!(total > 0)) return kNone;
  double left = uniform * total;
  size_t block = 0;
  for (size_t b = 0; b < block_sums_.size(); ++b) {
    if (block_sums_[b] <= 0) continue;
    block = b;
    if (left < block_sums_[b]) break;
    left -= block_sums_[b];
  }
  // Rounding may leave a little beyond the last token of the block; it goes to that token.
  const size_t begin = block * static_cast<size_t>(kWeightBlock);
  const size_t end = std::min(weights_.size(), begin + static_cast<size_t>(kWeightBlock));
  size_t chosen = begin;
  for (size_t i = begin; i < end; ++i) {
    if (weights_[i] <= 0) continue;
    chosen = i;
    if (left < weights_[i]) break;
    left -= weights_[i];
  }
  return static_cast<int32_t>(chosen);
}

int32_t Sampler::draw_from_kept(double uniform) const {
  if (kept_.empty()) return kNone;
  double total = 0;
  for (const int32_t id : kept_) total += weights_[static_cast<size_t>(id)];
  double left = uniform * total;
  for (const int32_t id : kept_) {
    left -= weights_[static_cast<size_t>(id)];
    if (left < 0) return id;
  }
  return kept_.back();
}

}  // namespace verlc::rollout
