// Files of rows, for tests.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "core/base/file.hpp"

namespace verlc::test {

/// A folder of its own, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "verlc_data_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::filesystem::path file(const std::string& name, const std::string& text) const {
    write_file(path_ / name, text);
    return path_ / name;
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string row(const std::string& prompt, const std::string& label = "\"1\"") {
  return R"({"data_source":"openai/gsm8k","prompt":)" + prompt +
         R"(,"reward_model":{"style":"rule","ground_truth":)" + label + "}}\n";
}

}  // namespace verlc::test
