#include "core/nn/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/check.hpp"

namespace verlc {
namespace {

std::vector<float> base_frequencies(double theta, int64_t head_dim) {
  std::vector<float> inv_freq(static_cast<size_t>(head_dim / 2));
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    inv_freq[i] = 1.0f / static_cast<float>(std::pow(theta, static_cast<double>(exponent)));
  }
  return inv_freq;
}

void scale_linear(const RopeConfig& config, std::vector<float>& inv_freq) {
  for (float& frequency : inv_freq) frequency /= static_cast<float>(config.factor);
}

// NTK-aware interpolation: a larger base for sequences beyond the trained length.
std::vector<float> dynamic_frequencies(const RopeConfig& config, int64_t head_dim, int64_t length) {
  const double longest = static_cast<double>(std::max(length, config.max_position));
  const double d = static_cast<double>(head_dim);
  const double growth =
      config.factor * longest / static_cast<double>(config.max_position) - (config.factor - 1.0);
  return base_frequencies(config.theta * std::pow(growth, d / (d - 2.0)), head_dim);
}

// Llama 3.1: long wavelengths are stretched, short ones kept, a ramp between.
void scale_llama3(const RopeConfig& config, std::vector<float>& inv_freq) {
  const double trained = static_cast<double>(config.original_max_position);
  const double longest_kept = trained / config.high_freq_factor,
               shortest_scaled = trained / config.low_freq_factor;
  for (float& frequency : inv_freq) {
    const double wavelength = 2.0 * std::numbers::pi / frequency;
    if (wavelength < longest_kept) continue;
    const double scaled = frequency / config.factor;
    if (wavelength > shortest_scaled) {
      frequency = static_cast<float>(scaled);
    } else {
      const double ramp = (trained / wavelength - config.low_freq_factor) /
                          (config.high_freq_factor - config.low_freq_factor);
      frequency = static_cast<float>((1.0 - ramp) * scaled + ramp * frequency);
    }
  }
}

// The dimension whose wavelength fits `rotations` times into the trained length.
double yarn_dimension(const RopeConfig& config, int64_t head_dim, double rotations) {
  return static_cast<double>(head_dim) *
         std::log(static_cast<double>(config.original_max_position) / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(config.theta));
}

// YaRN (Peng et al. 2023): interpolate below the correction range, extrapolate above, ramp inside.
void scale_yarn(const RopeConfig& config, int64_t head_dim, std::vector<float>& inv_freq) {
  double low = yarn_dimension(config, head_dim, config.beta_fast);
  double high = yarn_dimension(config, head_dim, config.beta_slow);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(head_dim - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < inv_freq.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    const double kept = inv_freq[i], interpolated = kept / config.factor;
    inv_freq[i] = static_cast<float>(interpolated * ramp + kept * (1.0 - ramp));
  }
}

double yarn_mscale(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double yarn_attention_scaling(const RopeConfig& config) {
  if (config.attention_factor > 0) return config.attention_factor;
  if (config.mscale > 0 && config.mscale_all_dim > 0)
    return yarn_mscale(config.factor, config.mscale) / yarn_mscale(config.factor, config.mscale_all_dim);
  return yarn_mscale(config.factor, 1.0);
}

}  // namespace

const std::vector<std::string>& rope_types() {
  static const std::vector<std::string> types = {"default", "linear", "dynamic", "llama3", "yarn"};
  return types;
}

RopeFrequencies rope_frequencies(const RopeConfig& given, int64_t head_dim, int64_t length) {
  RopeConfig config = given;
  if (config.original_max_position == 0) config.original_max_position = config.max_position;
  RopeFrequencies result{base_frequencies(config.theta, head_dim), 1.0f};
  if (config.type == "default") return result;
  if (config.type == "linear") {
    scale_linear(config, result.inv_freq);
  } else if (config.type == "dynamic") {
    result.inv_freq = dynamic_frequencies(config, head_dim, length);
  } else if (config.type == "llama3") {
    scale_llama3(config, result.inv_freq);
  } else {
    check(config.type == "yarn", "the rotary scaling was checked when the configuration was read");
    scale_yarn(config, head_dim, result.inv_freq);
    result.attention_scaling = static_cast<float>(yarn_attention_scaling(config));
  }
  return result;
}

}  // namespace verlc
