#include "host/comm/process_group.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "host/comm/group_state.hpp"
#include "host/comm/reduce.hpp"

namespace verlc {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kDefaultLimit{600};

std::chrono::nanoseconds default_limit() {
  const char* text = std::getenv("VERLC_COMM_TIMEOUT");
  if (text == nullptr) return kDefaultLimit;
  char* end = nullptr;
  const double seconds = std::strtod(text, &end);
  if (end == text || *end != 0 || !(seconds > 0) || seconds > 1e7)
    fail_input({.what = "the time limit of collectives is not a number of seconds above 0",
                .where = "environment variable VERLC_COMM_TIMEOUT",
                .value = text,
                .fix = "set it to a number such as 600, or unset it"});
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

// Polls hotly for a few microseconds, then lets others run, then naps: a rank that waits for a long rollout
// of another must not take its core.
void idle(int round) {
  constexpr int kHot = 200;
  constexpr int kPolite = 2000;
  if (round < kHot) return;
  if (round < kPolite) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

std::string late_text(const Operation& operation, const FlightRecorder& recorder, double seconds) {
  const std::vector<int> missing = operation.missing_ranks();
  const std::vector<int> slow = operation.slow_receivers();
  std::string who =
      missing.empty() ? "" : fmt::format("; nothing came from ranks {}", fmt::join(missing, ", "));
  if (!slow.empty()) who += fmt::format("; ranks {} have not taken what was sent", fmt::join(slow, ", "));
  return fmt::format("{} was not done after {:.3g} s, phase {}{}; last operations of this rank:\n{}",
                     describe_key(operation.key()), seconds, recorder.phase(), who, recorder.dump());
}

}  // namespace

ProcessGroup::ProcessGroup(std::unique_ptr<Transport> transport, GroupOptions options)
    : state_(std::make_unique<State>()) {
  state_->transport = std::move(transport);
  state_->name = std::move(options.name);
  state_->shared = std::make_shared<RankState>();
  state_->shared->limit = options.time_limit ? *options.time_limit : default_limit();
  state_->shared->allocator = options.allocator;
}

ProcessGroup::ProcessGroup(std::unique_ptr<State> state) : state_(std::move(state)) {}
ProcessGroup::~ProcessGroup() {
  if (state_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  state_->shared->forget(state_->transport.get());
}

int ProcessGroup::rank() const {
  return state_->transport->rank();
}
int ProcessGroup::size() const {
  return state_->transport->size();
}
const std::string& ProcessGroup::name() const {
  return state_->name;
}
void ProcessGroup::set_phase(std::string phase) {
  state_->shared->recorder.set_phase(std::move(phase));
}
void ProcessGroup::watch_phases(std::function<void(const std::string&)> watcher) {
  state_->shared->recorder.watch_phases(std::move(watcher));
}
const FlightRecorder& ProcessGroup::recorder() const {
  return state_->shared->recorder;
}

void ProcessGroup::set_time_limit(std::chrono::nanoseconds limit) {
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  state_->shared->limit = limit;
}

void ProcessGroup::abort(int exit_code, const std::string& reason) {
  state_->transport->abort(exit_code, reason);
}

std::unique_ptr<ProcessGroup> ProcessGroup::split(int color, int key, std::string name) {
  barrier();  // checks that all ranks are here before the transport, which has no checks of its own
  auto part = std::make_unique<State>();
  {
    const std::lock_guard<std::mutex> lock(state_->shared->mutex);
    part->transport = state_->transport->split(color, key);
  }
  if (part->transport == nullptr)
    fail_run({.what = state_->transport->failure(),
              .where = "split of group " + state_->name,
              .value = {},
              .fix = {}});
  part->name = std::move(name);
  part->shared = state_->shared;
  return std::unique_ptr<ProcessGroup>(new ProcessGroup(std::move(part)));
}

bool ProcessGroup::done(Ticket ticket) {
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  return state_->shared->progress(static_cast<uint64_t>(ticket));
}

std::function<void()> ProcessGroup::progress_maker() const {
  return [rank = std::weak_ptr<RankState>(state_->shared)] {
    const std::shared_ptr<RankState> shared = rank.lock();
    if (shared == nullptr) return;
    const std::unique_lock<std::mutex> lock(shared->mutex, std::try_to_lock);
    if (!lock.owns_lock() || shared->operations.empty() || !shared->broken.empty()) return;
    try {
      shared->progress_all();
    } catch (const Error&) {
      // Kept as the reason for which every later wait fails.
    }
  };
}

void ProcessGroup::wait(Ticket ticket, std::optional<std::chrono::nanoseconds> limit) {
  RankState& shared = *state_->shared;
  const auto number = static_cast<uint64_t>(ticket);
  const Clock::time_point begin = Clock::now();
  std::chrono::nanoseconds allowed{};
  {
    const std::lock_guard<std::mutex> lock(shared.mutex);
    allowed = limit ? *limit : shared.limit;
  }
  for (int round = 0;; ++round) {
    {
      const std::lock_guard<std::mutex> lock(shared.mutex);
      if (shared.progress(number)) {
        shared.operations.erase(number);
        return;
      }
      if (round % 64 == 63 && Clock::now() - begin > allowed) {
        const Operation& late = *shared.operations.at(number);
        shared.broken =
            late_text(late, shared.recorder, std::chrono::duration<double>(Clock::now() - begin).count());
        fail_run({.what = shared.broken,
                  .where = fmt::format("rank {}, group {}, operation #{}", rank(), late.group(),
                                       late.key().sequence),
                  .value = {},
                  .fix = "look at the named ranks first; the limit is VERLC_COMM_TIMEOUT seconds"});
      }
    }
    idle(round);
  }
}

std::vector<std::string> ProcessGroup::all_gather_text(std::string_view text) {
  const auto length = static_cast<int64_t>(text.size());
  const std::vector<int64_t> lengths = all_gather(std::span<const int64_t>(&length, 1));
  const auto longest = static_cast<size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::vector<uint8_t> padded(longest);
  std::copy(text.begin(), text.end(), padded.begin());
  const std::vector<uint8_t> all = all_gather(std::span<const uint8_t>(padded));
  std::vector<std::string> texts;
  for (size_t r = 0; r < lengths.size(); ++r)
    texts.emplace_back(reinterpret_cast<const char*>(all.data()) + r * longest,
                       static_cast<size_t>(lengths[r]));
  return texts;
}

std::string ProcessGroup::broadcast_text(std::string_view text, int root) {
  int64_t length = rank() == root ? static_cast<int64_t>(text.size()) : 0;
  broadcast(std::span<int64_t>(&length, 1), root);
  std::string result = rank() == root ? std::string(text) : std::string(static_cast<size_t>(length), '\0');
  broadcast(std::span<uint8_t>(reinterpret_cast<uint8_t*>(result.data()), result.size()), root);
  return result;
}

}  // namespace verlc
