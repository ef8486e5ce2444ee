#include "rollout/held_weight.hpp"

#include <algorithm>
#include <cstring>

#include "core/kernels/cpu/elementwise.hpp"
#include "core/kernels/cpu/gemm.hpp"

namespace verlc::rollout {
namespace {

using kernels::kPanel;

/// Rows converted at a time when the source is not dense float32.
constexpr int64_t kStagingRows = 32 * kPanel;

int64_t inner_size(const Shape& shape) {
  return shape.empty() ? 1 : shape.back();
}
int64_t outer_size(const Shape& shape) {
  return num_elements(shape) / std::max<int64_t>(inner_size(shape), 1);
}

float element_at(const SourceTensor& source, int64_t offset) {
  if (source.dtype == DType::bf16) return bf16_to_f32(static_cast<const uint16_t*>(source.data)[offset]);
  return static_cast<const float*>(source.data)[offset];
}

/// Offset of the first element of row `row`, all axes but the last counted together.
int64_t row_offset(const SourceTensor& source, const Shape& shape, int64_t row) {
  if (source.strides.empty()) return row * inner_size(shape);
  int64_t offset = 0;
  for (size_t axis = shape.size() - 1; axis > 0; --axis) {
    offset += row % shape[axis - 1] * source.strides[axis - 1];
    row /= shape[axis - 1];
  }
  return offset;
}

void copy_rows(const Context& context, const SourceTensor& source, const Shape& shape, int64_t begin,
               int64_t end, float* out) {
  const int64_t columns = inner_size(shape);
  if (source.dtype == DType::bf16 && source.strides.empty()) {
    kernels::widen_bf16(context.threads, static_cast<const uint16_t*>(source.data) + begin * columns, out,
                        static_cast<size_t>((end - begin) * columns));
    return;
  }
  const int64_t step = source.strides.empty() ? 1 : source.strides.back();
  context.threads.for_each(static_cast<int>(end - begin), [&](int i) {
    const int64_t offset = row_offset(source, shape, begin + i);
    float* to = out + i * columns;
    for (int64_t c = 0; c < columns; ++c) to[c] = element_at(source, offset + c * step);
  });
}

}  // namespace

HeldWeight::HeldWeight(const Context& context, const Parameter& parameter, HeldForm form,
                       kernels::Precision precision)
    : name_(parameter.name), shape_(parameter.shape), form_(form), precision_(precision) {
  if (form == HeldForm::panels)
    storage_ = context.empty({kernels::packed_words(precision, shape_[0], shape_[1])}, Category::param);
  else
    storage_ = context.empty({num_elements(shape_)}, Category::param, is_narrow() ? DType::bf16 : DType::f32);
}

kernels::PackedMatrix HeldWeight::panels() const {
  return {storage_.raw(), precision_, shape_[1]};
}

void HeldWeight::set(const Context& context, const SourceTensor& source) {
  delivered_ = source.dtype;
  const int64_t rows = outer_size(shape_);
  if (source.dtype == DType::f32 && source.strides.empty()) {
    set_rows(context, static_cast<const float*>(source.data), 0, rows);
    return;
  }
  const int64_t step = std::min(rows, kStagingRows);
  const Tensor staging = context.empty({step * inner_size(shape_)}, Category::work);
  for (int64_t begin = 0; begin < rows; begin += step) {
    const int64_t end = std::min(rows, begin + step);
    copy_rows(context, source, shape_, begin, end, staging.f32());
    set_rows(context, staging.f32(), begin, end);
  }
}

void HeldWeight::set_rows(const Context& context, const float* dense, int64_t begin, int64_t end) {
  const int64_t columns = inner_size(shape_);
  const int64_t first = begin * columns;
  const auto count = static_cast<size_t>((end - begin) * columns);
  if (form_ == HeldForm::panels) {
    auto* words = static_cast<uint32_t*>(storage_.raw());
    kernels::pack_weight(context.threads, precision_, dense, end - begin, columns,
                         words + begin / kPanel * kernels::panel_words(precision_, columns));
  } else if (is_narrow()) {
    kernels::narrow_bf16(context.threads, dense, storage_.bf16() + first, count);
  } else {
    std::memcpy(storage_.f32() + first, dense, count * sizeof(float));
  }
}

void HeldWeight::bind(Parameter& parameter) const {
  parameter.packed = {};
  if (form_ == HeldForm::panels) {
    // Only the shape is read beside the panels.
    parameter.var = Var::constant(Tensor::borrow(nullptr, shape_, DType::f32));
    parameter.packed.forward = panels();
  } else {
    parameter.var = Var::constant(storage_.view(shape_));
  }
}

void HeldWeight::read_row(int64_t row, float* out) const {
  const int64_t columns = inner_size(shape_);
  if (form_ == HeldForm::panels) return kernels::read_packed_row(panels(), row, columns, out);
  if (!is_narrow()) {
    std::copy_n(storage_.f32() + row * columns, columns, out);
    return;
  }
  const uint16_t* from = storage_.bf16() + row * columns;
  for (int64_t i = 0; i < columns; ++i) out[i] = bf16_to_f32(from[i]);
}

void HeldWeight::read_rows(const Context& context, float* out) const {
  const int64_t columns = inner_size(shape_);
  const int64_t rows = outer_size(shape_);
  const auto blocks = static_cast<int>((rows + kPanel - 1) / kPanel);
  context.threads.for_each(blocks, [&](int block) {
    for (int64_t row = block * kPanel; row < std::min(rows, (block + 1) * kPanel); ++row)
      read_row(row, out + row * columns);
  });
}

void HeldWeight::add_to(const Context& context, WeightsDigest& digest) const {
  const Tensor wide = context.empty(shape_, Category::work);
  read_rows(context, wide.f32());
  if (delivered_ == DType::f32 && !is_narrow()) {
    digest.add(name_, "f32", shape_, wide.raw(), wide.bytes());
    return;
  }
  const Tensor narrow = context.empty(shape_, Category::work, DType::bf16);
  kernels::narrow_bf16(context.threads, wide.f32(), narrow.bf16(), static_cast<size_t>(wide.size()));
  digest.add(name_, "bf16", shape_, narrow.raw(), narrow.bytes());
}

}  // namespace verlc::rollout
