// The seam to memory: every byte that an engine holds is allocated here, with a category and the scope that
// is current on the calling thread, so that a report can say what each byte is for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verlc {

/// What a block is for. The names are those of the "verlc.memory/1" service.
enum class Category : uint32_t { param, grad, optimizer, activation, logits, kv_cache, comm, work };
inline constexpr size_t kNumCategories = 8;

/// "param", "grad", "optimizer", "activation", "logits", "kv_cache", "comm", "work".
constexpr std::string_view category_name(Category category) {
  constexpr std::array<std::string_view, kNumCategories> names = {
      "param", "grad", "optimizer", "activation", "logits", "kv_cache", "comm", "work"};
  return names[static_cast<size_t>(category)];
}

/// Alignment of every block: one cache line, one AVX-512 register.
inline constexpr size_t kBlockAlignment = 64;

class Allocator {
 public:
  virtual ~Allocator() = default;
  /// A block of `bytes` bytes, aligned to kBlockAlignment, contents undefined. Never null for bytes > 0; zero
  /// bytes give null. Throws Error(fit) naming the request and the largest owners when there is no room.
  virtual void* allocate(size_t bytes, Category category) = 0;
  /// `bytes` and `category` as at allocation. Any thread.
  virtual void release(void* block, size_t bytes, Category category) noexcept = 0;
  /// Nested names of what this thread is doing ("layer.3"); see Scope.
  virtual void push_scope(std::string_view name) = 0;
  virtual void pop_scope() noexcept = 0;
};

/// Names what this thread does until the end of the block.
class Scope {
 public:
  Scope(Allocator& allocator, std::string_view name) : allocator_(allocator) { allocator_.push_scope(name); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { allocator_.pop_scope(); }

 private:
  Allocator& allocator_;
};

}  // namespace verlc
