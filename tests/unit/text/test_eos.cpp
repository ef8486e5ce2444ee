#include <unistd.h>
#include <catch2/catch.hpp>

#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/text/eos.hpp"
#include "unit/text/tokenizer_files.hpp"

using namespace verlc;
using namespace verlc::text;

namespace {

/// A model folder that lives as long as this object.
struct Folder {
  std::filesystem::path path;
  explicit Folder(const std::string& name)
      : path(std::filesystem::temp_directory_path() / ("verlc_" + name + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
    write_file(path / "tokenizer.json", byte_level_file().dump());
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("stop ids are the union of three files, scalar and list (traps B7, A31)") {
  const Folder folder("eos");
  const Tokenizer tokenizer = Tokenizer::load(folder.path);
  CHECK(read_stop_ids(folder.path, tokenizer).empty());
  write_file(folder.path / "config.json", R"({"eos_token_id": 17})");
  write_file(folder.path / "generation_config.json", R"({"eos_token_id": [17, 4]})");
  CHECK(read_stop_ids(folder.path, tokenizer) == std::vector<int32_t>{4, 17});
  write_file(folder.path / "tokenizer_config.json", R"({"eos_token": {"content": "<eos>"}})");
  CHECK(read_stop_ids(folder.path, tokenizer) == std::vector<int32_t>{4, 17, 259});
  write_file(folder.path / "config.json",
             R"({"eos_token_id": null, "text_config": {"eos_token_id": [1, 106]}})");
  CHECK(read_stop_ids(folder.path, tokenizer) == std::vector<int32_t>{1, 4, 17, 106, 259});
}

TEST_CASE("a broken eos entry names its file") {
  const Folder folder("eos_broken");
  const Tokenizer tokenizer = Tokenizer::load(folder.path);
  write_file(folder.path / "generation_config.json", R"({"eos_token_id": "two"})");
  CHECK_THROWS_WITH(read_stop_ids(folder.path, tokenizer),
                    Catch::Contains("generation_config.json.eos_token_id"));
  write_file(folder.path / "generation_config.json", "{}");
  write_file(folder.path / "tokenizer_config.json", R"({"eos_token": "<nowhere>"})");
  CHECK_THROWS_WITH(read_stop_ids(folder.path, tokenizer), Catch::Contains("<nowhere>"));
}

TEST_CASE("a folder without tokenizer.json is named") {
  CHECK_THROWS_WITH(Tokenizer::load("/nonexistent/model"), Catch::Contains("/nonexistent/model"));
}
