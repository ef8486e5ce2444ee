// Reading the golden files of the text tests.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace verlc::golden {

/// tests/golden/text/data of the source tree.
std::filesystem::path data_folder();

/// The unpacked content of an .xz file, by the `xz` program. The test fails when that does not work.
std::string read_xz(const std::filesystem::path& path);

/// The text of a tokenizer's tokenizer.json ("qwen3", ..., "smollm2"), or nothing, with the reason on the
/// console.
std::optional<std::string> find_tokenizer(const std::string& name);

/// The folder that holds the published tokenizer and its tokenizer_config.json.
std::filesystem::path tokenizer_folder(const std::string& name);

}  // namespace verlc::golden
