// Helpers of the hf tests: a folder that vanishes, safetensors bytes from a header text, and messages of
// errors.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/file.hpp"

namespace verlc::test {

namespace fs = std::filesystem;

/// A new empty folder, removed with everything in it.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "verlc_hf_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] fs::path operator/(std::string_view name) const { return path_ / name; }
  /// Names of the files in it.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path_)) found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  fs::path path_;
};

inline void put(const fs::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// Length, header and data as they stand in a file.
inline std::string safetensors(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof(length), '\0');
  std::memcpy(bytes.data(), &length, sizeof(length));
  return bytes.append(header).append(data);
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

template <typename T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// The message of the Error that `action` throws; "(no error)" when it throws none.
template <typename F>
std::string message_of(F&& action, ErrorKind kind = ErrorKind::input) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind() == kind ? error.what() : std::string("(wrong kind) ") + error.what();
  }
  return "(no error)";
}

}  // namespace verlc::test
