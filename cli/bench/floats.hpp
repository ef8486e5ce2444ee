// Memory for the operands of a kernel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verlc::bench {

/// `count` floats between -0.5 and 0.5 (zeros when not `random`), page-aligned, on huge pages where the
/// kernel gives them, as the engines' weights are. Owns them.
class Floats {
 public:
  explicit Floats(size_t count, bool random = true);
  explicit Floats(int64_t count, bool random = true) : Floats(static_cast<size_t>(count), random) {}
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  Floats(Floats&& other) noexcept;
  Floats& operator=(Floats&&) = delete;
  ~Floats();

  [[nodiscard]] float* get() const { return data_; }
  /// The same bytes as bfloat16 places, two for each float.
  [[nodiscard]] uint16_t* halves() const { return reinterpret_cast<uint16_t*>(data_); }
  [[nodiscard]] size_t size() const { return count_; }

 private:
  float* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace verlc::bench
