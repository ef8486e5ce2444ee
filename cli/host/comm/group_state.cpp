#include "host/comm/group_state.hpp"

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace verlc {
namespace {

// Tags fit into 24 bits, which every MPI transport has: collectives below 2^22, then first messages, then
// payloads.
constexpr uint64_t kSequences = 1u << 20;
constexpr uint32_t kMessageTags = 1u << 22;
constexpr uint32_t kPayloadTags = 1u << 23;
constexpr uint32_t kPayloadTurns = 64;

}  // namespace

void RankState::progress_all() {
  if (!broken.empty())
    fail_run({.what = "communication broke earlier: " + broken, .where = {}, .value = {}, .fix = {}});
  try {
    for (auto& [number, operation] : operations) {
      if (!operation->finished && operation->progress()) recorder.finish(operation->record);
    }
  } catch (const Error& fault) {
    broken = fault.what();
    throw;
  }
}

bool RankState::progress(uint64_t ticket) {
  progress_all();
  const auto found = operations.find(ticket);
  check(found != operations.end(), "a ticket is waited for once, on a group of the rank that started it");
  return found->second->finished;
}

void RankState::forget(const Transport* transport) {
  for (auto entry = operations.begin(); entry != operations.end();) {
    if (entry->second->transport() != transport) {
      ++entry;
      continue;
    }
    if (!entry->second->finished) static_cast<void>(entry->second.release());
    entry = operations.erase(entry);
  }
}

std::unique_ptr<Operation> ProcessGroup::State::make(OperationKey key) {
  key.sequence = sequence++;
  const auto tag = static_cast<uint32_t>(key.sequence % kSequences) << 2;
  return std::make_unique<Operation>(*transport, name, key, tag, tag + 1);
}

std::unique_ptr<Operation> ProcessGroup::State::make_message(OperationKey key, int peer) {
  auto& counts = key.collective == Collective::send ? sent : received;
  const uint32_t turn = counts[{peer, key.detail}]++ % kPayloadTurns;
  const auto tag = static_cast<uint32_t>(key.detail);
  return std::make_unique<Operation>(*transport, name, key, kMessageTags | tag,
                                     kPayloadTags | turn << 16 | tag);
}

Ticket ProcessGroup::State::launch(std::unique_ptr<Operation> operation, uint64_t bytes) {
  const uint64_t ticket = shared->next_ticket++;
  operation->record = shared->recorder.start(name, operation->key().sequence,
                                             collective_name(operation->key().collective), bytes);
  shared->operations.emplace(ticket, std::move(operation));
  return Ticket{ticket};
}

}  // namespace verlc
