// The algorithms of ProcessGroup's collectives, each a few stages of messages.
#include <fmt/core.h>

#include <cstring>
#include <utility>

#include "core/base/error.hpp"
#include "host/comm/group_state.hpp"
#include "host/comm/reduce.hpp"

namespace verlc {
namespace {

// Up to this size every rank sends everything to every rank: one trip instead of two.
constexpr uint64_t kOneTripBytes = 4096;

[[noreturn]] void fail_call(const ProcessGroup& group, const char* call, const std::string& what) {
  fail_run({.what = what,
            .where = fmt::format("rank {}, group {}, {}", group.rank(), group.name(), call),
            .value = {},
            .fix = {}});
}

void require(bool holds, const ProcessGroup& group, const char* call, const std::string& what) {
  if (!holds) fail_call(group, call, what);
}

void require_reducible(const ProcessGroup& group, const char* call, plugin::ElementType type, ReduceOp op) {
  require(reducible(type), group, call,
          fmt::format("cannot reduce elements of type {}; f32, f64, i32, i64 and u8 can be",
                      plugin::element_name(type)));
  require(op >= ReduceOp::sum && op <= ReduceOp::min, group, call,
          fmt::format("unknown reduction {}", static_cast<int>(op)));
}

std::byte* at(const CommBuffer& buffer, uint64_t element) {
  return static_cast<std::byte*>(buffer.data) + element * buffer.type.bits / 8;
}

void copy_bytes(void* to, const void* from, uint64_t bytes) {
  if (bytes > 0 && to != from) std::memmove(to, from, bytes);
}

// The ranks' parts in rank order: this rank's own, and the others' one after another in `others`.
std::vector<const void*> in_rank_order(int size, int rank, const void* own, const std::byte* others,
                                       uint64_t bytes) {
  std::vector<const void*> parts;
  for (int r = 0; r < size; ++r) {
    parts.push_back(r == rank ? own : others);
    if (r != rank && others != nullptr) others += bytes;
  }
  return parts;
}

// Sends `part_of(peer)` to every other rank and receives `bytes` from each into the operation's scratch.
template <typename PartOf>
void exchange(Operation& operation, Allocator* allocator, int size, int rank, uint64_t bytes,
              PartOf part_of) {
  operation.scratch = Scratch(allocator, static_cast<size_t>(size - 1) * bytes);
  std::byte* into = operation.scratch.data();
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    operation.receive(r, into, bytes);
    if (into != nullptr) into += bytes;
  }
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    const std::pair<const void*, uint64_t> part = part_of(r);
    operation.send(r, part.first, part.second);
  }
}

}  // namespace

Ticket ProcessGroup::start_barrier() {
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make({.collective = Collective::barrier, .type = plugin::kU8});
  exchange(*operation, nullptr, size(), rank(), 0,
           [](int) { return std::pair<const void*, uint64_t>(nullptr, 0); });
  return state_->launch(std::move(operation), 0);
}

Ticket ProcessGroup::start_all_reduce(const CommBuffer& in, const CommBuffer& out, ReduceOp op) {
  require_reducible(*this, "all_reduce", in.type, op);
  require(in.count == out.count && in.type == out.type, *this, "all_reduce",
          "in and out differ in count or type");
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make({.collective = Collective::all_reduce,
                                 .type = in.type,
                                 .detail = static_cast<int32_t>(op),
                                 .count = in.count});
  const int num = size();
  const int me = rank();
  if (in.bytes() <= kOneTripBytes) {
    exchange(*operation, state_->shared->allocator, num, me, in.bytes(),
             [&](int) { return std::pair<const void*, uint64_t>(in.data, in.bytes()); });
    operation->set_next([=](Operation& self) {
      const auto parts = in_rank_order(num, me, in.data, self.scratch.data(), in.bytes());
      if (in.count > 0) reduce_in_order(parts, out.data, in.count, in.type, op);
      return false;
    });
    return state_->launch(std::move(operation), in.bytes());
  }
  // Each rank reduces one part of the buffer and hands the result round.
  const auto begin = [=](int r) { return in.count / num * r + in.count % num * r / num; };
  const uint64_t mine = begin(me + 1) - begin(me);
  exchange(*operation, state_->shared->allocator, num, me, mine * in.type.bits / 8, [&](int r) {
    return std::pair<const void*, uint64_t>(at(in, begin(r)), (begin(r + 1) - begin(r)) * in.type.bits / 8);
  });
  operation->set_next([=](Operation& self) {
    const uint64_t bytes = mine * in.type.bits / 8;
    const auto parts = in_rank_order(num, me, at(in, begin(me)), self.scratch.data(), bytes);
    if (mine > 0) reduce_in_order(parts, at(out, begin(me)), mine, in.type, op);
    self.use_second_tags();
    for (int r = 0; r < num; ++r)
      if (r != me) self.receive(r, at(out, begin(r)), (begin(r + 1) - begin(r)) * in.type.bits / 8);
    for (int r = 0; r < num; ++r)
      if (r != me) self.send(r, at(out, begin(me)), bytes);
    return num > 1;
  });
  return state_->launch(std::move(operation), in.bytes());
}

Ticket ProcessGroup::start_reduce_scatter(const CommBuffer& in, const CommBuffer& out, ReduceOp op) {
  require_reducible(*this, "reduce_scatter", in.type, op);
  require(in.count == out.count * static_cast<uint64_t>(size()) && in.type == out.type, *this,
          "reduce_scatter",
          fmt::format("in has {} elements and out {}, times {} ranks", in.count, out.count, size()));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make({.collective = Collective::reduce_scatter,
                                 .type = in.type,
                                 .detail = static_cast<int32_t>(op),
                                 .count = in.count});
  const int num = size();
  const int me = rank();
  exchange(*operation, state_->shared->allocator, num, me, out.bytes(), [&](int r) {
    return std::pair<const void*, uint64_t>(at(in, out.count * static_cast<uint64_t>(r)), out.bytes());
  });
  operation->set_next([=](Operation& self) {
    const void* own = at(in, out.count * static_cast<uint64_t>(me));
    const auto parts = in_rank_order(num, me, own, self.scratch.data(), out.bytes());
    if (out.count > 0) reduce_in_order(parts, out.data, out.count, in.type, op);
    return false;
  });
  return state_->launch(std::move(operation), in.bytes());
}

Ticket ProcessGroup::start_all_gather(const CommBuffer& in, const CommBuffer& out) {
  require(out.count == in.count * static_cast<uint64_t>(size()) && in.type == out.type, *this, "all_gather",
          fmt::format("out has {} elements and in {}, times {} ranks", out.count, in.count, size()));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation =
      state_->make({.collective = Collective::all_gather, .type = in.type, .detail = 0, .count = in.count});
  const auto part = [&](int r) { return at(out, in.count * static_cast<uint64_t>(r)); };
  for (int r = 0; r < size(); ++r)
    if (r != rank()) operation->receive(r, part(r), in.bytes());
  for (int r = 0; r < size(); ++r)
    if (r != rank()) operation->send(r, in.data, in.bytes());
  copy_bytes(part(rank()), in.data, in.bytes());
  return state_->launch(std::move(operation), out.bytes());
}

Ticket ProcessGroup::start_all_to_all(const CommBuffer& in, std::span<const int64_t> send_counts,
                                      const CommBuffer& out, std::span<const int64_t> receive_counts) {
  const auto num = static_cast<size_t>(size());
  require(send_counts.size() == num && receive_counts.size() == num && in.type == out.type, *this,
          "all_to_all", "counts are not one per rank, or the types differ");
  uint64_t send_total = 0;
  uint64_t receive_total = 0;
  for (size_t r = 0; r < num; ++r) {
    require(send_counts[r] >= 0 && receive_counts[r] >= 0, *this, "all_to_all", "a count is negative");
    send_total += static_cast<uint64_t>(send_counts[r]);
    receive_total += static_cast<uint64_t>(receive_counts[r]);
  }
  require(send_total == in.count && receive_total == out.count, *this, "all_to_all",
          fmt::format("counts add up to {} and {}, the buffers have {} and {}", send_total, receive_total,
                      in.count, out.count));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make({.collective = Collective::all_to_all, .type = in.type});
  const uint64_t width = in.type.bits / 8;
  std::byte* into = at(out, 0);
  std::byte* own_place = nullptr;
  for (size_t r = 0; r < num; ++r) {
    const uint64_t bytes = static_cast<uint64_t>(receive_counts[r]) * width;
    if (static_cast<int>(r) == rank()) own_place = into;
    if (static_cast<int>(r) != rank()) operation->receive(static_cast<int>(r), into, bytes);
    into += bytes;
  }
  const std::byte* from = at(in, 0);
  for (size_t r = 0; r < num; ++r) {
    const uint64_t bytes = static_cast<uint64_t>(send_counts[r]) * width;
    if (static_cast<int>(r) != rank()) {
      operation->send(static_cast<int>(r), from, bytes);
    } else {
      require(send_counts[r] == receive_counts[r], *this, "all_to_all",
              "this rank's count for itself differs");
      copy_bytes(own_place, from, bytes);
    }
    from += bytes;
  }
  return state_->launch(std::move(operation), in.bytes());
}

Ticket ProcessGroup::start_broadcast(const CommBuffer& buffer, int root) {
  const int num = size();
  require(root >= 0 && root < num, *this, "broadcast", fmt::format("root {} is no rank of the group", root));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make(
      {.collective = Collective::broadcast, .type = buffer.type, .detail = root, .count = buffer.count});
  // A binomial tree over ranks counted from the root: place p hears from p without its highest bit.
  const int place = (rank() - root + num) % num;
  int reach = 1;
  while (reach <= place) reach *= 2;
  const auto send_on = [=](Operation& self) {
    bool sent = false;
    for (int step = reach; place + step < num; step *= 2) {
      self.send((place + step + root) % num, buffer.data, buffer.bytes());
      sent = true;
    }
    return sent;
  };
  if (place == 0) {
    send_on(*operation);
  } else {
    operation->receive((place - reach / 2 + root) % num, buffer.data, buffer.bytes());
    operation->set_next(send_on);
  }
  return state_->launch(std::move(operation), buffer.bytes());
}

Ticket ProcessGroup::start_send(const CommBuffer& buffer, int peer, int tag) {
  require(peer >= 0 && peer < size() && peer != rank(), *this, "send",
          fmt::format("rank {} is no other rank", peer));
  require(tag >= 0 && tag < 65536, *this, "send", fmt::format("tag {} is outside 0..65535", tag));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make_message(
      {.collective = Collective::send, .type = buffer.type, .detail = tag, .count = buffer.count}, peer);
  operation->send(peer, buffer.data, buffer.bytes());
  return state_->launch(std::move(operation), buffer.bytes());
}

Ticket ProcessGroup::start_receive(const CommBuffer& buffer, int peer, int tag) {
  require(peer >= 0 && peer < size() && peer != rank(), *this, "receive",
          fmt::format("rank {} is no other rank", peer));
  require(tag >= 0 && tag < 65536, *this, "receive", fmt::format("tag {} is outside 0..65535", tag));
  const std::lock_guard<std::mutex> lock(state_->shared->mutex);
  auto operation = state_->make_message(
      {.collective = Collective::receive, .type = buffer.type, .detail = tag, .count = buffer.count}, peer);
  operation->receive(peer, buffer.data, buffer.bytes());
  return state_->launch(std::move(operation), buffer.bytes());
}

}  // namespace verlc
