#include "core/base/rng.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace verlc {
namespace {

constexpr uint32_t kMul0 = 0xD2511F53u, kMul1 = 0xCD9E8D57u;
constexpr uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{kMul0} * c[0];
    const uint64_t p1 = uint64_t{kMul1} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

}  // namespace

uint64_t mix_seed(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9E3779B97F4A7C15u * (b + 1);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

RandomStream::RandomStream(uint64_t seed, Purpose purpose, uint64_t a, uint64_t b) {
  const uint64_t key = mix_seed(seed, static_cast<uint64_t>(purpose));
  const uint64_t stream = mix_seed(a, b);
  key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  counter_ = {0, 0, static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
}

void RandomStream::refill() {
  block_ = philox(counter_, key_);
  if (++counter_[0] == 0) ++counter_[1];
  used_ = 0;
}

uint32_t RandomStream::next_u32() {
  if (used_ == 4) refill();
  return block_[used_++];
}

void RandomStream::seek(uint64_t block) {
  counter_[0] = static_cast<uint32_t>(block);
  counter_[1] = static_cast<uint32_t>(block >> 32);
  used_ = 4;
}

uint64_t RandomStream::below(uint64_t n) {
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
  uint64_t value = next_u64();
  while (value >= limit) value = next_u64();
  return value % n;
}

double RandomStream::normal() {
  const double u = 1.0 - uniform();
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

void shuffle(std::span<uint32_t> items, RandomStream& stream) {
  for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[stream.below(i)]);
}

}  // namespace verlc
