#include "host/comm/operation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "verlc/plugin.h"

namespace verlc {
namespace {

// Travels before every payload; payloads up to kInline bytes ride in the same message.
struct Header {
  uint32_t magic;
  uint32_t collective;
  uint64_t sequence;
  uint64_t count;
  uint64_t payload_bytes;
  int32_t detail;
  uint8_t code;
  uint8_t bits;
  uint16_t reserved;
};
constexpr uint32_t kMagic = 0x76726c63;
constexpr size_t kInline = 4096;
constexpr size_t kFirstCapacity = sizeof(Header) + kInline;

Collective matching(Collective collective) {
  return collective == Collective::receive ? Collective::send : collective;
}

std::vector<int> sorted(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

const char* collective_name(Collective collective) {
  constexpr const char* kNames[] = {"barrier",    "all_reduce", "reduce_scatter", "all_gather",
                                    "all_to_all", "broadcast",  "send",           "receive"};
  return kNames[static_cast<size_t>(collective)];
}

std::string describe_key(const OperationKey& key) {
  constexpr const char* kReductions[] = {"sum", "max", "min"};
  std::string detail;
  if (key.collective == Collective::all_reduce || key.collective == Collective::reduce_scatter) {
    detail = key.detail >= 0 && key.detail < 3 ? fmt::format("({})", kReductions[key.detail]) : "(?)";
  } else if (key.collective == Collective::broadcast) {
    detail = fmt::format(" from rank {}", key.detail);
  } else if (key.collective == Collective::send || key.collective == Collective::receive) {
    detail = fmt::format(" with tag {}", key.detail);
  }
  if (key.collective == Collective::barrier) return "barrier";
  if (key.collective == Collective::all_to_all)
    return fmt::format("all_to_all of {}", plugin::element_name(key.type));
  return fmt::format("{}{} of {} {}", collective_name(key.collective), detail, key.count,
                     plugin::element_name(key.type));
}

Scratch::Scratch(Allocator* allocator, size_t bytes) : allocator_(allocator), bytes_(bytes) {
  if (bytes == 0) return;
  data_ = allocator_ != nullptr
              ? static_cast<std::byte*>(allocator_->allocate(bytes, Category::comm))
              : static_cast<std::byte*>(::operator new (bytes, std::align_val_t{kBlockAlignment}));
}

Scratch::Scratch(Scratch&& other) noexcept
    : allocator_(other.allocator_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

Scratch& Scratch::operator=(Scratch&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Scratch::~Scratch() {
  if (data_ == nullptr) return;
  if (allocator_ != nullptr) {
    allocator_->release(data_, bytes_, Category::comm);
  } else {
    ::operator delete (data_, std::align_val_t{kBlockAlignment});
  }
}

Operation::Operation(Transport& transport, std::string group, OperationKey key, uint32_t first_tag,
                     uint32_t payload_tag)
    : transport_(transport),
      group_(std::move(group)),
      key_(key),
      first_tag_(first_tag),
      payload_tag_(payload_tag) {}

void Operation::send(int peer, const void* data, size_t bytes) {
  const Header header{.magic = kMagic,
                      .collective = static_cast<uint32_t>(matching(key_.collective)),
                      .sequence = key_.sequence,
                      .count = key_.count,
                      .payload_bytes = bytes,
                      .detail = key_.detail,
                      .code = key_.type.code,
                      .bits = key_.type.bits,
                      .reserved = 0};
  const size_t inlined = bytes <= kInline ? bytes : 0;
  Outgoing message{.peer = peer, .first = std::vector<std::byte>(sizeof header + inlined), .tokens = {}};
  std::memcpy(message.first.data(), &header, sizeof header);
  if (inlined > 0) std::memcpy(message.first.data() + sizeof header, data, inlined);
  message.tokens.push_back(
      transport_.post_send(peer, first_tag_ + 2 * stage_, message.first.data(), message.first.size()));
  if (bytes > kInline)
    message.tokens.push_back(transport_.post_send(peer, payload_tag_ + 2 * stage_, data, bytes));
  outgoing_.push_back(std::move(message));
}

void Operation::receive(int peer, void* data, size_t bytes) {
  Incoming message{.peer = peer,
                   .data = static_cast<std::byte*>(data),
                   .bytes = bytes,
                   .first = std::vector<std::byte>(kFirstCapacity),
                   .token = 0};
  message.token =
      transport_.post_receive(peer, first_tag_ + 2 * stage_, message.first.data(), kFirstCapacity);
  incoming_.push_back(std::move(message));
}

void Operation::fail(const std::string& what) const {
  fail_run(
      {.what = what,
       .where = fmt::format("rank {}, group {}, operation #{}", transport_.rank(), group_, key_.sequence),
       .value = {},
       .fix = {}});
}

void Operation::check_header(const Incoming& message, size_t first_bytes) const {
  Header header{};
  if (first_bytes >= sizeof header) std::memcpy(&header, message.first.data(), sizeof header);
  if (header.magic != kMagic)
    fail(fmt::format("rank {} sent something that is no message of ours", message.peer));
  const OperationKey theirs{.collective = static_cast<Collective>(std::min<uint32_t>(header.collective, 7)),
                            .sequence = header.sequence,
                            .type = {header.code, header.bits},
                            .detail = header.detail,
                            .count = header.count};
  const bool same = theirs.collective == matching(key_.collective) && theirs.sequence == key_.sequence &&
                    theirs.type == key_.type && theirs.detail == key_.detail && theirs.count == key_.count;
  if (!same)
    fail(fmt::format("the ranks differ: rank {} does {}, rank {} does {} (its operation #{})",
                     transport_.rank(), describe_key(key_), message.peer, describe_key(theirs),
                     theirs.sequence));
  if (header.payload_bytes != message.bytes)
    fail(fmt::format("the ranks differ: rank {} sends {} bytes to rank {}, which expects {} ({})",
                     message.peer, header.payload_bytes, transport_.rank(), message.bytes,
                     describe_key(key_)));
}

void Operation::progress_sends() {
  for (Outgoing& message : outgoing_) {
    std::erase_if(message.tokens, [&](Transport::Token token) { return transport_.test(token, nullptr); });
  }
  std::erase_if(outgoing_, [](const Outgoing& message) { return message.tokens.empty(); });
}

void Operation::progress_receive(Incoming& message) {
  size_t bytes = 0;
  if (message.done || !transport_.test(message.token, &bytes)) return;
  if (message.have_first) {
    message.done = true;
    return;
  }
  check_header(message, bytes);
  message.have_first = true;
  if (message.bytes > kInline) {
    message.token =
        transport_.post_receive(message.peer, payload_tag_ + 2 * stage_, message.data, message.bytes);
    return;
  }
  if (message.bytes > 0) std::memcpy(message.data, message.first.data() + sizeof(Header), message.bytes);
  message.done = true;
}

bool Operation::progress() {
  if (finished) return true;
  for (;;) {
    progress_sends();
    bool received = true;
    for (Incoming& message : incoming_) {
      progress_receive(message);
      received = received && message.done;
    }
    const std::string failure = transport_.failure();
    if (!failure.empty()) fail(failure);
    if (!received || !outgoing_.empty()) return false;
    incoming_.clear();
    // Taken out first: the stage may set another one while it runs.
    const NextStage next = std::exchange(next_, nullptr);
    if (!next || !next(*this)) break;
  }
  finished = true;
  scratch = Scratch();
  return true;
}

std::vector<int> Operation::missing_ranks() const {
  std::vector<int> ranks;
  for (const Incoming& message : incoming_)
    if (!message.done) ranks.push_back(message.peer);
  return sorted(std::move(ranks));
}

std::vector<int> Operation::slow_receivers() const {
  std::vector<int> ranks;
  for (const Outgoing& message : outgoing_) ranks.push_back(message.peer);
  return sorted(std::move(ranks));
}

}  // namespace verlc
