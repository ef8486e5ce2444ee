// Any bytes are a safetensors file or an Error: every view lies inside the input and converts.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/hf/safetensors_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const verlc::hf::SafetensorsFile file(bytes, "fuzz.safetensors");
    for (const verlc::hf::TensorView& tensor : file.tensors()) {
      const size_t wanted = static_cast<size_t>(tensor.size()) * verlc::hf::file_type_size(tensor.type);
      verlc::check(tensor.bytes.size() == wanted && file.find(tensor.name) == &tensor,
                   "a view is whole and found");
      verlc::check(wanted == 0 || (tensor.bytes.data() >= bytes.data() &&
                                   tensor.bytes.data() + wanted <= bytes.data() + bytes.size()),
                   "a view lies inside its file");
      if (!verlc::hf::is_floating(tensor.type)) continue;
      std::vector<float> values(static_cast<size_t>(tensor.size()));
      verlc::hf::convert_to_f32(tensor.type, tensor.bytes.data(), values.size(), values.data());
    }
  } catch (const verlc::Error&) {
    return 0;
  }
  return 0;
}
