// The weights digest that trainer and rollout compare after every weight update; defined in verlc/plugin.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace verlc {

class WeightsDigest {
 public:
  /// One weight: Hugging Face name, dtype name ("f32", "bf16"), shape, dense row-major bytes. Any order of
  /// calls. Throws Error(run) when a name comes twice.
  void add(std::string_view name, std::string_view dtype, std::span<const int64_t> shape, const void* bytes,
           size_t num_bytes);
  /// 32 hexadecimal digits over all weights added, in ascending order of their names.
  [[nodiscard]] std::string hex() const;

 private:
  std::map<std::string, std::string, std::less<>> hashes_;  // name -> hex digest of the weight
};

}  // namespace verlc
