#include "core/nn/rotary_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/hash.hpp"

namespace verlc {
namespace {

// Positions are added in steps, so that a growing sequence does not rebuild the table for each token.
constexpr int64_t kGrowth = 1024;

Tensor concatenated(Allocator& memory, const Tensor& first, const std::vector<Tensor>& others,
                    int64_t width) {
  int64_t rows = first.dim(0);
  for (const Tensor& other : others) rows += other.dim(0);
  Tensor all = Tensor::empty(memory, {rows, width}, DType::f32, Category::work);
  float* to = all.f32();
  std::memcpy(to, first.raw(), first.bytes());
  to += first.size();
  for (const Tensor& other : others) {
    std::memcpy(to, other.raw(), other.bytes());
    to += other.size();
  }
  return all;
}

}  // namespace

RotaryTable::RotaryTable(Allocator& memory, RopeConfig config, int64_t head_dim)
    : memory_(memory),
      config_(std::move(config)),
      head_dim_(head_dim),
      frequencies_(rope_frequencies(config_, head_dim, 0)) {
  grow(1);
}

void RotaryTable::fill(const RopeFrequencies& frequencies, int64_t positions, float* cos, float* sin) const {
  const auto half = static_cast<size_t>(head_dim_ / 2);
  for (int64_t position = 0; position < positions; ++position)
    for (size_t i = 0; i < half; ++i) {
      // The angle is rounded to float32 as in the reference; its cosine is then exact to float32.
      const float angle = static_cast<float>(position) * frequencies.inv_freq[i];
      *cos++ = static_cast<float>(std::cos(static_cast<double>(angle))) * frequencies.attention_scaling;
      *sin++ = static_cast<float>(std::sin(static_cast<double>(angle))) * frequencies.attention_scaling;
    }
}

void RotaryTable::grow(int64_t positions) {
  const int64_t rows = (positions + kGrowth - 1) / kGrowth * kGrowth;
  cos_ = Tensor::empty(memory_, {rows, head_dim_ / 2}, DType::f32, Category::work);
  sin_ = Tensor::empty(memory_, {rows, head_dim_ / 2}, DType::f32, Category::work);
  fill(frequencies_, rows, cos_.f32(), sin_.f32());
}

void RotaryTable::append_stretched(std::span<const int32_t> positions, int64_t length, RotaryRows& result,
                                   std::vector<Tensor>& extra_cos, std::vector<Tensor>& extra_sin) const {
  int64_t first_row = cos_.dim(0);
  for (const Tensor& table : extra_cos) first_row += table.dim(0);
  Tensor cos = Tensor::empty(memory_, {length, head_dim_ / 2}, DType::f32, Category::work);
  Tensor sin = Tensor::empty(memory_, {length, head_dim_ / 2}, DType::f32, Category::work);
  fill(rope_frequencies(config_, head_dim_, length), length, cos.f32(), sin.f32());
  extra_cos.push_back(cos);
  extra_sin.push_back(sin);
  for (const int32_t position : positions) result.rows.push_back(static_cast<int32_t>(first_row) + position);
}

RotaryRows RotaryTable::rows(std::span<const int32_t> positions, std::span<const int32_t> cu_seqlens) {
  int64_t longest = 1;
  for (const int32_t position : positions) longest = std::max<int64_t>(longest, int64_t{position} + 1);
  if (longest > cos_.dim(0)) grow(longest);
  RotaryRows result{cos_, sin_, {}};
  if (config_.type != "dynamic" || longest <= config_.max_position) {
    result.rows.assign(positions.begin(), positions.end());
    return result;
  }
  std::vector<Tensor> extra_cos, extra_sin;
  for (size_t s = 0; s + 1 < cu_seqlens.size(); ++s) {
    const auto begin = static_cast<size_t>(cu_seqlens[s]), end = static_cast<size_t>(cu_seqlens[s + 1]);
    if (begin == end) continue;
    const std::span<const int32_t> own = positions.subspan(begin, end - begin);
    const int64_t length = int64_t{*std::max_element(own.begin(), own.end())} + 1;
    if (length > config_.max_position) {
      append_stretched(own, length, result, extra_cos, extra_sin);
    } else {
      result.rows.insert(result.rows.end(), own.begin(), own.end());
    }
  }
  check(result.rows.size() == positions.size(), "every token belongs to a sequence");
  result.cos = concatenated(memory_, cos_, extra_cos, head_dim_ / 2);
  result.sin = concatenated(memory_, sin_, extra_sin, head_dim_ / 2);
  return result;
}

std::string RotaryTable::digest() const {
  Digest digest;
  digest.update(frequencies_.inv_freq.data(), frequencies_.inv_freq.size() * sizeof(float));
  digest.update(&frequencies_.attention_scaling, sizeof frequencies_.attention_scaling);
  return digest.hex();
}

}  // namespace verlc
