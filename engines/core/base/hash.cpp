#include "core/base/hash.hpp"

#include <openssl/evp.h>
#include <xxhash.h>

#include <memory>

#include "core/base/check.hpp"
#include "core/base/file.hpp"

namespace verlc {
namespace {

std::string to_hex(const unsigned char* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

struct Digest::State {
  XXH3_state_t* state = XXH3_createState();
  State() { XXH3_128bits_reset(state); }
  ~State() { XXH3_freeState(state); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
};

Digest::Digest() : state_(std::make_unique<State>()) {}
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;
Digest& Digest::operator=(Digest&&) noexcept = default;

void Digest::update(const void* data, size_t size) {
  XXH3_128bits_update(state_->state, data, size);
}

std::string Digest::hex() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->state));
  return to_hex(canonical.digest, sizeof canonical.digest);
}

std::string digest_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  Digest digest;
  digest.update(file.bytes().data(), file.bytes().size());
  return digest.hex();
}

std::string sha256(std::string_view bytes) {
  unsigned char hash[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  check(EVP_Digest(bytes.data(), bytes.size(), hash, &size, EVP_sha256(), nullptr) == 1,
        "SHA-256 is available");
  return to_hex(hash, size);
}

std::string sha256_file(const std::filesystem::path& path) {
  const MappedFile file(path);
  return sha256({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

}  // namespace verlc
