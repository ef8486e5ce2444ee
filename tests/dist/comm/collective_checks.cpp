#include "dist/comm/collective_checks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "core/base/rng.hpp"

namespace verlc::test {
namespace {

constexpr uint64_t kCounts[] = {0, 1, 3, 1024, 1025, 20011};

template <typename T>
std::vector<T> data_of(int rank, uint64_t turn, uint64_t count) {
  RandomStream stream(17, Purpose::test, turn, static_cast<uint64_t>(rank));
  std::vector<T> data(count);
  for (T& value : data) {
    if constexpr (std::is_floating_point_v<T>) {
      // Wide exponents, so that another order of additions would give other bits.
      value = static_cast<T>(std::ldexp(stream.normal(), static_cast<int>(stream.below(40)) - 20));
    } else {
      value = static_cast<T>(stream.next_u64());
    }
  }
  return data;
}

template <typename T>
T combine(T a, T b, ReduceOp op) {
  if (op == ReduceOp::max) return a < b ? b : a;
  if (op == ReduceOp::min) return b < a ? b : a;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return a + b;
}

class Checker {
 public:
  Checker(ProcessGroup& group, Delay delay) : group_(group), delay_(delay) {}

  template <typename T>
  void all(const char* type) {
    for (const uint64_t count : kCounts) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) reductions<T>(type, count, op);
      copies<T>(type, count);
      exchange<T>(type, count);
      messages<T>(type, count);
    }
  }

  void overlapping();
  void split_groups();
  std::vector<std::string> problems;

 private:
  uint64_t next() {
    ++turn_;
    if (delay_ != nullptr) delay_(rank(), turn_);
    return turn_;
  }
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  template <typename T>
  void expect(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
    const bool equal = got.size() == wanted.size() &&
                       (got.empty() || std::memcmp(got.data(), wanted.data(), got.size() * sizeof(T)) == 0);
    if (!equal) problems.push_back(fmt::format("rank {} of {}: {} differs", rank(), size(), what));
  }

  template <typename T>
  std::vector<T> reduced(uint64_t turn, uint64_t count, ReduceOp op) {
    std::vector<T> result = data_of<T>(0, turn, count);
    for (int r = 1; r < size(); ++r) {
      const std::vector<T> other = data_of<T>(r, turn, count);
      for (uint64_t i = 0; i < count; ++i) result[i] = combine(result[i], other[i], op);
    }
    return result;
  }

  template <typename T>
  void reductions(const char* type, uint64_t count, ReduceOp op) {
    const std::string name = fmt::format("{} x {} op {}", count, type, static_cast<int>(op));
    uint64_t turn = next();
    std::vector<T> data = data_of<T>(rank(), turn, count);
    group_.all_reduce(std::span<T>(data), op);
    expect(data, reduced<T>(turn, count, op), "all_reduce in place of " + name);

    turn = next();
    std::vector<T> in = data_of<T>(rank(), turn, count);
    std::vector<T> out(count);
    group_.wait(group_.start_all_reduce(comm_buffer(std::span<T>(in)), comm_buffer(std::span<T>(out)), op));
    expect(out, reduced<T>(turn, count, op), "all_reduce of " + name);

    turn = next();
    const uint64_t total = count * static_cast<uint64_t>(size());
    in = data_of<T>(rank(), turn, total);
    group_.wait(
        group_.start_reduce_scatter(comm_buffer(std::span<T>(in)), comm_buffer(std::span<T>(out)), op));
    const std::vector<T> whole = reduced<T>(turn, total, op);
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(count) * rank();
    expect(out, std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(count)),
           "reduce_scatter of " + name);
  }

  template <typename T>
  void copies(const char* type, uint64_t count) {
    uint64_t turn = next();
    const std::vector<T> in = data_of<T>(rank(), turn, count);
    std::vector<T> wanted;
    for (int r = 0; r < size(); ++r) {
      const std::vector<T> part = data_of<T>(r, turn, count);
      wanted.insert(wanted.end(), part.begin(), part.end());
    }
    expect(group_.all_gather(std::span<const T>(in)), wanted,
           fmt::format("all_gather of {} x {}", count, type));
    for (int root = 0; root < size(); ++root) {
      turn = next();
      std::vector<T> data = data_of<T>(rank(), turn, count);
      group_.broadcast(std::span<T>(data), root);
      expect(data, data_of<T>(root, turn, count),
             fmt::format("broadcast from {} of {} x {}", root, count, type));
    }
  }

  // Rank a sends (a + 2 b) % 4 times `count` elements to rank b: also zero and unequal counts.
  template <typename T>
  void exchange(const char* type, uint64_t count) {
    const uint64_t turn = next();
    const auto amount = [&](int from, int to) { return static_cast<int64_t>((from + 2 * to) % 4 * count); };
    std::vector<int64_t> send(static_cast<size_t>(size()));
    std::vector<int64_t> receive(static_cast<size_t>(size()));
    std::vector<T> in;
    std::vector<T> wanted;
    for (int r = 0; r < size(); ++r) {
      send[static_cast<size_t>(r)] = amount(rank(), r);
      receive[static_cast<size_t>(r)] = amount(r, rank());
      const auto part = [&](int from, int to) {
        return data_of<T>(from, turn * 100 + static_cast<uint64_t>(to),
                          static_cast<uint64_t>(amount(from, to)));
      };
      const std::vector<T> outgoing = part(rank(), r);
      const std::vector<T> incoming = part(r, rank());
      in.insert(in.end(), outgoing.begin(), outgoing.end());
      wanted.insert(wanted.end(), incoming.begin(), incoming.end());
    }
    std::vector<T> out(wanted.size());
    group_.wait(group_.start_all_to_all(comm_buffer(std::span<T>(in)), send, comm_buffer(std::span<T>(out)),
                                        receive));
    expect(out, wanted, fmt::format("all_to_all of {} x {}", count, type));
  }

  // Round a ring, two messages of one tag and one of another, received in the order of posting per tag.
  template <typename T>
  void messages(const char* type, uint64_t count) {
    if (size() == 1) return;
    const uint64_t turn = next();
    const int to = (rank() + 1) % size();
    const int from = (rank() + size() - 1) % size();
    std::vector<std::vector<T>> got(3, std::vector<T>(count));
    std::vector<std::vector<T>> sent;
    std::vector<Ticket> tickets;
    constexpr int kTags[] = {5, 5, 65535};
    for (int i = 0; i < 3; ++i)
      sent.push_back(data_of<T>(rank(), turn * 10 + static_cast<uint64_t>(i), count));
    for (size_t i = 0; i < 3; ++i)
      tickets.push_back(group_.start_send(comm_buffer(std::span<T>(sent[i])), to, kTags[i]));
    for (const size_t i : {size_t{2}, size_t{0}, size_t{1}})
      tickets.push_back(group_.start_receive(comm_buffer(std::span<T>(got[i])), from, kTags[i]));
    for (const Ticket ticket : tickets) group_.wait(ticket);
    for (size_t i = 0; i < 3; ++i)
      expect(got[i], data_of<T>(from, turn * 10 + i, count),
             fmt::format("message {} of {} x {}", i, count, type));
  }

  ProcessGroup& group_;
  Delay delay_;
  uint64_t turn_ = 0;
};

// Several operations under way at once, waited for in reverse order.
void Checker::overlapping() {
  constexpr uint64_t kCount = 5000;
  std::vector<std::vector<float>> data;
  std::vector<Ticket> tickets;
  std::vector<uint64_t> turns;
  for (int i = 0; i < 8; ++i) {
    turns.push_back(next());
    data.push_back(data_of<float>(rank(), turns.back(), kCount));
  }
  for (std::vector<float>& part : data) {
    const CommBuffer buffer = comm_buffer(std::span<float>(part));
    tickets.push_back(group_.start_all_reduce(buffer, buffer, ReduceOp::sum));
  }
  while (!group_.done(tickets[3])) {
  }
  for (size_t i = tickets.size(); i > 0; --i) group_.wait(tickets[i - 1]);
  for (size_t i = 0; i < data.size(); ++i)
    expect(data[i], reduced<float>(turns[i], kCount, ReduceOp::sum),
           fmt::format("overlapping all_reduce {}", i));
}

// Even and odd ranks apart, in reverse order; a wait on one group goes on while the other has work.
void Checker::split_groups() {
  const std::unique_ptr<ProcessGroup> part = group_.split(rank() % 2, -rank(), "parity");
  std::vector<int> members;
  for (int r = size() - 1; r >= 0; --r)
    if (r % 2 == rank() % 2) members.push_back(r);
  if (part->size() != static_cast<int>(members.size()) ||
      members[static_cast<size_t>(part->rank())] != rank())
    problems.push_back(fmt::format("rank {}: split gives rank {} of {}", rank(), part->rank(), part->size()));
  const auto mine = static_cast<int64_t>(rank());
  const std::vector<int64_t> gathered = part->all_gather(std::span<const int64_t>(&mine, 1));
  expect(gathered, std::vector<int64_t>(members.begin(), members.end()), "all_gather in a split-off group");

  std::vector<double> large(3000, 1.0);
  std::vector<double> other(3000, 2.0);
  const CommBuffer first = comm_buffer(std::span<double>(large));
  const CommBuffer second = comm_buffer(std::span<double>(other));
  const Ticket on_world = group_.start_all_reduce(first, first, ReduceOp::sum);
  const Ticket on_part = part->start_all_reduce(second, second, ReduceOp::sum);
  if (rank() % 2 == 0) group_.wait(on_world);
  part->wait(on_part);
  if (rank() % 2 == 1) group_.wait(on_world);
  expect(large, std::vector<double>(3000, size()), "all_reduce beside another group");
  expect(other, std::vector<double>(3000, 2.0 * part->size()), "all_reduce in the other group");

  const std::vector<std::string> texts =
      group_.all_gather_text(std::string(static_cast<size_t>(rank()) * 3, 'x'));
  for (int r = 0; r < size(); ++r)
    if (texts[static_cast<size_t>(r)].size() != static_cast<size_t>(r) * 3)
      problems.push_back(fmt::format("rank {}: text of rank {} is wrong", rank(), r));
  if (group_.broadcast_text("from " + std::to_string(rank()), size() - 1) !=
      "from " + std::to_string(size() - 1))
    problems.push_back(fmt::format("rank {}: broadcast text is wrong", rank()));
}

}  // namespace

std::vector<std::string> check_collectives(ProcessGroup& group, Delay delay) {
  Checker checker(group, delay);
  checker.all<float>("f32");
  checker.all<double>("f64");
  checker.all<int32_t>("i32");
  checker.all<int64_t>("i64");
  checker.all<uint8_t>("u8");
  checker.overlapping();
  checker.split_groups();
  group.barrier();
  return checker.problems;
}

}  // namespace verlc::test
