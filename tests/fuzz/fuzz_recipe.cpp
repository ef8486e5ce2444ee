// Any bytes as a recipe: problems or a recipe whose dump loads to the same, never a crash.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "recipe/load.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    verlc::LoadOptions options;
    options.check_files = false;  // the text must not choose files to read
    const verlc::LoadedRecipe loaded = verlc::inspect_recipe_text(text, "fuzz.toml", options);
    if (!loaded.problems.empty()) return 0;
    const std::string dump = verlc::dump_recipe(loaded.recipe);
    const verlc::LoadedRecipe again = verlc::inspect_recipe_text(dump, "fuzz.toml", options);
    if (!again.problems.empty() || !(again.recipe == loaded.recipe) ||
        verlc::dump_recipe(again.recipe) != dump)
      std::abort();
  } catch (const verlc::Error&) {  // a base that can't be read
  }
  return 0;
}
