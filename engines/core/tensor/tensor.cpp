#include "core/tensor/tensor.hpp"

#include <cstring>
#include <utility>

namespace verlc {

int64_t num_elements(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Storage::Storage(Allocator& allocator, size_t bytes, Category category)
    : allocator_(allocator),
      bytes_(bytes),
      category_(category),
      data_(static_cast<std::byte*>(allocator.allocate(bytes, category))) {}

Storage::~Storage() {
  allocator_.release(data_, bytes_, category_);
}

Tensor Tensor::empty(Allocator& allocator, Shape shape, DType dtype, Category category) {
  Tensor tensor;
  tensor.size_ = num_elements(shape);
  tensor.dtype_ = dtype;
  tensor.storage_ = std::make_shared<Storage>(allocator, tensor.bytes(), category);
  tensor.data_ = tensor.storage_->data();
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::zeros(Allocator& allocator, Shape shape, DType dtype, Category category) {
  Tensor tensor = empty(allocator, std::move(shape), dtype, category);
  tensor.fill_zero();
  return tensor;
}

Tensor Tensor::borrow(void* data, Shape shape, DType dtype) {
  Tensor tensor;
  tensor.size_ = num_elements(shape);
  tensor.dtype_ = dtype;
  tensor.data_ = data;
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::view(Shape shape) const {
  check(num_elements(shape) == size_, "a view has as many elements as its tensor");
  return part(0, std::move(shape));
}

Tensor Tensor::part(int64_t begin, Shape shape) const {
  Tensor tensor = *this;
  tensor.size_ = num_elements(shape);
  check(begin >= 0 && begin + tensor.size_ <= size_, "a part lies inside its tensor");
  if (data_ != nullptr)
    tensor.data_ = static_cast<std::byte*>(data_) + static_cast<size_t>(begin) * dtype_size(dtype_);
  tensor.shape_ = std::move(shape);
  return tensor;
}

Tensor Tensor::rows(int64_t begin, int64_t end) const {
  check(!shape_.empty() && begin >= 0 && begin <= end && end <= shape_[0], "rows lie inside the first axis");
  const int64_t row = shape_[0] == 0 ? 0 : size_ / shape_[0];
  Shape shape = shape_;
  shape[0] = end - begin;
  return part(begin * row, std::move(shape));
}

void Tensor::fill_zero() const {
  if (size_ > 0) std::memset(data_, 0, bytes());
}

}  // namespace verlc
