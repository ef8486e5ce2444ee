// Element-wise reduction of the ranks' parts, in rank order.
#pragma once

#include <cstdint>
#include <span>

#include "host/comm/process_group.hpp"
#include "verlc/cpp/tensor.hpp"

namespace verlc {

/// True for the types that reductions take: f32, f64, i32, i64, u8.
bool reducible(plugin::ElementType type);

/// out[i] = ((parts[0][i] op parts[1][i]) op parts[2][i]) ..., each part with `count` elements. `out` may be
/// one of the parts. Integer sums wrap; max and min give NaN when one of the values is NaN.
void reduce_in_order(std::span<const void* const> parts, void* out, uint64_t count, plugin::ElementType type,
                     ReduceOp op);

}  // namespace verlc
