// Any bytes as a data file: rows or an Error, never a crash; labels keep their text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.hpp"
#include "data/prompt_dataset.hpp"
#include "data/sft_dataset.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    for (const verlc::PromptRow& row :
         verlc::parse_prompts(bytes, "fuzz", {.require_label = false, .require_data_source = false}))
      if (!row.ground_truth_text.empty() && nlohmann::json::parse(row.ground_truth_text) != row.ground_truth)
        std::abort();
  } catch (const verlc::Error&) {
  }
  try {
    verlc::parse_sft(bytes, "fuzz", {});
  } catch (const verlc::Error&) {
  }
  return 0;
}
