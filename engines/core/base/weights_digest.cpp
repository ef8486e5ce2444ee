#include "core/base/weights_digest.hpp"

#include "core/base/error.hpp"
#include "core/base/hash.hpp"

namespace verlc {

void WeightsDigest::add(std::string_view name, std::string_view dtype, std::span<const int64_t> shape,
                        const void* bytes, size_t num_bytes) {
  constexpr std::string_view kSeparator("\0", 1);
  std::string head(name);
  head.append(kSeparator).append(dtype).append(kSeparator);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) head += ',';
    head += std::to_string(shape[i]);
  }
  head.append(kSeparator);
  Digest digest;
  digest.update(head);
  if (num_bytes > 0) digest.update(bytes, num_bytes);
  if (!hashes_.emplace(name, digest.hex()).second)
    fail_run({.what = "a weight takes part twice in the weights digest",
              .where = std::string(name),
              .value = {},
              .fix = {}});
}

std::string WeightsDigest::hex() const {
  Digest digest;
  for (const auto& [name, hash] : hashes_) digest.update(hash);
  return digest.hex();
}

}  // namespace verlc
