// Hashes: XXH3-128 for weights and checkpoint shards, SHA-256 where a file's identity is a matter of trust.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace verlc {

/// Streaming XXH3-128; hex() gives 32 hexadecimal digits.
class Digest {
 public:
  Digest();
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  void update(const void* data, size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// XXH3-128 of a whole file. Throws Error(input) when it cannot be read.
std::string digest_file(const std::filesystem::path& path);
/// SHA-256 of bytes / of a file, 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
std::string sha256_file(const std::filesystem::path& path);

}  // namespace verlc
