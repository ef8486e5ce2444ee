// Element types and tensors in the layout of the ABI. Part of verlc/plugin.hpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verlc/cpp/guard.hpp"

namespace verlc::plugin {

struct ElementType {
  uint8_t code = VERLC_CODE_FLOAT;
  uint8_t bits = 32;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

inline constexpr ElementType kF64{VERLC_CODE_FLOAT, 64};
inline constexpr ElementType kF32{VERLC_CODE_FLOAT, 32};
inline constexpr ElementType kF16{VERLC_CODE_FLOAT, 16};
inline constexpr ElementType kBf16{VERLC_CODE_BFLOAT, 16};
inline constexpr ElementType kI64{VERLC_CODE_INT, 64};
inline constexpr ElementType kI32{VERLC_CODE_INT, 32};
inline constexpr ElementType kI8{VERLC_CODE_INT, 8};
inline constexpr ElementType kU8{VERLC_CODE_UINT, 8};

template <typename T>
[[nodiscard]] constexpr ElementType element_of() {
  if constexpr (std::is_same_v<T, double>) return kF64;
  if constexpr (std::is_same_v<T, float>) return kF32;
  if constexpr (std::is_same_v<T, int64_t>) return kI64;
  if constexpr (std::is_same_v<T, int32_t>) return kI32;
  if constexpr (std::is_same_v<T, int8_t>) return kI8;
  if constexpr (std::is_same_v<T, uint8_t>) return kU8;
}

/// "f32", "bf16", "i64", ...: the names used in the weights digest and in messages.
inline std::string element_name(ElementType type) {
  const char* prefix = type.code == VERLC_CODE_FLOAT    ? "f"
                       : type.code == VERLC_CODE_BFLOAT ? "bf"
                       : type.code == VERLC_CODE_INT    ? "i"
                       : type.code == VERLC_CODE_UINT   ? "u"
                                                        : "?";
  return prefix + std::to_string(type.bits);
}

/// A verlc_tensor over dense row-major CPU memory that it does not own, with its shape and strides beside it.
/// Copyable: the pointers always lead into the object asked.
class TensorView {
 public:
  TensorView(const void* data, ElementType type, std::span<const int64_t> shape)
      : data_(const_cast<void*>(data)),
        type_(type),
        shape_(shape.begin(), shape.end()),
        strides_(dense_strides(shape)) {}
  template <typename T>
  TensorView(const T* data, std::initializer_list<int64_t> shape)
      : TensorView(data, element_of<T>(), std::span<const int64_t>(shape.begin(), shape.size())) {}

  /// Valid until the view is changed, moved or destroyed.
  [[nodiscard]] const verlc_tensor* get() {
    tensor_ = {
        data_,         VERLC_DEVICE_CPU, 0, static_cast<int32_t>(shape_.size()), type_.code, type_.bits, 1,
        shape_.data(), strides_.data(),  0};
    return &tensor_;
  }

  static std::vector<int64_t> dense_strides(std::span<const int64_t> shape) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * shape[i - 1];
    return strides;
  }

 private:
  void* data_;
  ElementType type_;
  std::vector<int64_t> shape_;
  std::vector<int64_t> strides_;
  verlc_tensor tensor_{};
};

inline ElementType element_type(const verlc_tensor& tensor) {
  return {tensor.code, tensor.bits};
}
inline std::span<const int64_t> shape_of(const verlc_tensor& tensor) {
  return {tensor.shape, static_cast<size_t>(tensor.ndim)};
}
inline int64_t num_elements(const verlc_tensor& tensor) {
  int64_t count = 1;
  for (const int64_t size : shape_of(tensor)) count *= size;
  return count;
}
inline uint64_t num_bytes(const verlc_tensor& tensor) {
  return static_cast<uint64_t>(num_elements(tensor)) * tensor.bits / 8;
}
/// First byte, byte_offset applied.
inline std::byte* raw_data(const verlc_tensor& tensor) {
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}
/// Row-major without gaps (axes of size 1 may have any stride).
inline bool is_dense(const verlc_tensor& tensor) {
  int64_t expected = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}
/// The elements of a dense CPU tensor of type T; throws Failure(VERLC_E_ARGUMENT) naming `name` otherwise.
template <typename T>
std::span<T> elements(const verlc_tensor& tensor, std::string_view name) {
  if (!(element_type(tensor) == element_of<std::remove_const_t<T>>()) || tensor.lanes != 1)
    throw Failure(VERLC_E_ARGUMENT, std::string(name) + " has element type " +
                                        element_name(element_type(tensor)) + ", needed " +
                                        element_name(element_of<std::remove_const_t<T>>()));
  if (tensor.device_type != VERLC_DEVICE_CPU || !is_dense(tensor))
    throw Failure(VERLC_E_ARGUMENT, std::string(name) + " is not a dense tensor in CPU memory");
  return {reinterpret_cast<T*>(raw_data(tensor)), static_cast<size_t>(num_elements(tensor))};
}

/// A managed tensor over dense row-major CPU memory. `keep_alive` is held until its release() is called,
/// once.
inline verlc_managed_tensor* make_managed_tensor(const void* data, ElementType type,
                                                 std::span<const int64_t> shape,
                                                 std::shared_ptr<const void> keep_alive = nullptr) {
  struct Owned {
    verlc_managed_tensor managed{};
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    std::shared_ptr<const void> keep_alive;
  };
  auto owned = std::make_unique<Owned>();
  owned->shape.assign(shape.begin(), shape.end());
  owned->strides = TensorView::dense_strides(shape);
  owned->keep_alive = std::move(keep_alive);
  owned->managed.version_major = 1;
  owned->managed.owner = owned.get();
  owned->managed.release = [](verlc_managed_tensor* self) noexcept {
    delete static_cast<Owned*>(self->owner);
  };
  owned->managed.tensor = {const_cast<void*>(data),
                           VERLC_DEVICE_CPU,
                           0,
                           static_cast<int32_t>(owned->shape.size()),
                           type.code,
                           type.bits,
                           1,
                           owned->shape.data(),
                           owned->strides.data(),
                           0};
  return &owned.release()->managed;
}

/// Releases a managed tensor once, by destruction.
struct ReleaseTensor {
  void operator()(verlc_managed_tensor* tensor) const noexcept {
    if (tensor->release != nullptr) tensor->release(tensor);
  }
};
using ManagedTensor = std::unique_ptr<verlc_managed_tensor, ReleaseTensor>;

/// A verlc_named_tensor with its name: a whole weight. `take()` gives the tensor away (the receiver releases
/// it).
class NamedTensor {
 public:
  NamedTensor(std::string name, ManagedTensor tensor)
      : name_(std::make_unique<std::string>(std::move(name))), tensor_(std::move(tensor)) {
    named_ = make_struct<verlc_named_tensor>();
    named_.name = to_abi(*name_);
    named_.tensor = tensor_.get();
  }
  [[nodiscard]] const std::string& name() const { return *name_; }
  /// The address stays valid until the object is moved or destroyed.
  [[nodiscard]] const verlc_named_tensor* get() const { return &named_; }
  verlc_managed_tensor* take() { return tensor_.release(); }

 private:
  std::unique_ptr<std::string> name_;
  ManagedTensor tensor_;
  verlc_named_tensor named_{};
};

}  // namespace verlc::plugin
