#include "host/comm/reduce.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "core/base/check.hpp"

namespace verlc {
namespace {

constexpr uint64_t kBlock = 2048;  // elements; the running result of a block stays in the first-level cache

template <typename T>
T add(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wrapping = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Wrapping>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b)));
  } else {
    return a + b;
  }
}

template <typename T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(value);
  return false;
}

template <typename T>
T larger(T a, T b) {
  return is_nan(a) || is_nan(b) ? add(a, b) : (a < b ? b : a);
}

template <typename T>
T smaller(T a, T b) {
  return is_nan(a) || is_nan(b) ? add(a, b) : (b < a ? b : a);
}

template <typename T, typename Combine>
void reduce_blocks(std::span<const void* const> parts, void* out, uint64_t count, Combine combine) {
  std::array<T, kBlock> result;  // apart from the inputs, since out may be one of them
  for (uint64_t begin = 0; begin < count; begin += kBlock) {
    const uint64_t size = std::min(kBlock, count - begin);
    std::copy_n(static_cast<const T*>(parts[0]) + begin, size, result.data());
    for (size_t r = 1; r < parts.size(); ++r) {
      const T* part = static_cast<const T*>(parts[r]) + begin;
      for (uint64_t i = 0; i < size; ++i) result[i] = combine(result[i], part[i]);
    }
    std::copy_n(result.data(), size, static_cast<T*>(out) + begin);
  }
}

template <typename T>
void reduce_typed(std::span<const void* const> parts, void* out, uint64_t count, ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return reduce_blocks<T>(parts, out, count, [](T a, T b) { return add(a, b); });
    case ReduceOp::max:
      return reduce_blocks<T>(parts, out, count, [](T a, T b) { return larger(a, b); });
    case ReduceOp::min:
      return reduce_blocks<T>(parts, out, count, [](T a, T b) { return smaller(a, b); });
  }
}

}  // namespace

bool reducible(plugin::ElementType type) {
  using namespace plugin;
  return type == kF32 || type == kF64 || type == kI32 || type == kI64 || type == kU8;
}

void reduce_in_order(std::span<const void* const> parts, void* out, uint64_t count, plugin::ElementType type,
                     ReduceOp op) {
  check(!parts.empty() && reducible(type), "a reduction has parts of a reducible type");
  if (type == plugin::kF32) return reduce_typed<float>(parts, out, count, op);
  if (type == plugin::kF64) return reduce_typed<double>(parts, out, count, op);
  if (type == plugin::kI32) return reduce_typed<int32_t>(parts, out, count, op);
  if (type == plugin::kI64) return reduce_typed<int64_t>(parts, out, count, op);
  reduce_typed<uint8_t>(parts, out, count, op);
}

}  // namespace verlc
