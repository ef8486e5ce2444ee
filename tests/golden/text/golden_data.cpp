#include "golden/text/golden_data.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <iostream>

#include "core/base/file.hpp"

namespace verlc::golden {

std::filesystem::path data_folder() {
  return std::filesystem::path(VERLC_SOURCE_DIR) / "tests/golden/text/data";
}

std::string read_xz(const std::filesystem::path& path) {
  REQUIRE(path.string().find('\'') == std::string::npos);
  FILE* pipe = popen(("xz -dc '" + path.string() + "'").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  char buffer[65536];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  REQUIRE(pclose(pipe) == 0);
  return text;
}

std::filesystem::path tokenizer_folder(const std::string& name) {
  const std::filesystem::path root(VERLC_SOURCE_DIR);
  return name == "smollm2" ? root / "models/SmolLM2-135M-Instruct"
                           : root / "../shared/data/tokenizers" / name;
}

std::optional<std::string> find_tokenizer(const std::string& name) {
  const auto folder = tokenizer_folder(name);
  if (std::filesystem::exists(folder / "tokenizer.json.xz")) return read_xz(folder / "tokenizer.json.xz");
  if (std::filesystem::exists(folder / "tokenizer.json")) return read_file(folder / "tokenizer.json");
  std::cout << "skipped " << name << ": no tokenizer.json under " << folder << '\n';
  return std::nullopt;
}

}  // namespace verlc::golden
