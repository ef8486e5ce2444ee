// Dense row-major tensors over tagged memory. A tensor is a handle: copies share the storage, and the last
// one releases it. There are no strides: what is not dense is made dense by the op that needs it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/check.hpp"
#include "core/memory/allocator.hpp"
#include "core/tensor/dtype.hpp"

namespace verlc {

using Shape = std::vector<int64_t>;

/// Product of the dimensions; 1 for a scalar.
int64_t num_elements(const Shape& shape);
/// "[3, 4]".
std::string to_string(const Shape& shape);

/// A block from an allocator, released with the last tensor that refers to it.
class Storage {
 public:
  Storage(Allocator& allocator, size_t bytes, Category category);
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  ~Storage();

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  [[nodiscard]] Category category() const { return category_; }

 private:
  Allocator& allocator_;
  size_t bytes_;
  Category category_;
  std::byte* data_;
};

class Tensor {
 public:
  /// Empty: no storage, defined() is false.
  Tensor() = default;

  /// New memory, contents undefined / zero.
  static Tensor empty(Allocator& allocator, Shape shape, DType dtype, Category category);
  static Tensor zeros(Allocator& allocator, Shape shape, DType dtype, Category category);
  /// A view of memory that the caller keeps alive.
  static Tensor borrow(void* data, Shape shape, DType dtype);

  [[nodiscard]] bool defined() const { return data_ != nullptr || !shape_.empty(); }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int64_t dim(size_t axis) const { return shape_[axis]; }
  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(size_) * dtype_size(dtype_); }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] void* raw() const { return data_; }

  [[nodiscard]] float* f32() const { return typed<float>(DType::f32); }
  [[nodiscard]] int32_t* i32() const { return typed<int32_t>(DType::i32); }
  [[nodiscard]] uint16_t* bf16() const { return typed<uint16_t>(DType::bf16); }
  [[nodiscard]] uint8_t* u8() const { return typed<uint8_t>(DType::u8); }
  [[nodiscard]] std::span<float> floats() const { return {f32(), static_cast<size_t>(size_)}; }

  /// The same elements under another shape of equal size.
  [[nodiscard]] Tensor view(Shape shape) const;
  /// Elements [begin, begin + size of shape) of the flat order, under `shape`; shares the storage.
  [[nodiscard]] Tensor part(int64_t begin, Shape shape) const;
  /// Rows [begin, end) of the first axis; shares the storage.
  [[nodiscard]] Tensor rows(int64_t begin, int64_t end) const;
  void fill_zero() const;

 private:
  template <typename T>
  [[nodiscard]] T* typed(DType dtype) const {
    check(dtype_ == dtype, "a tensor is read as the type that it holds");
    return static_cast<T*>(data_);
  }

  std::shared_ptr<Storage> storage_;
  void* data_ = nullptr;
  Shape shape_;
  int64_t size_ = 0;
  DType dtype_ = DType::f32;
};

}  // namespace verlc
