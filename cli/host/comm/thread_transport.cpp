// Ranks as threads of one process: a post office with one queue per (group, sender, receiver, tag).
#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "core/base/check.hpp"
#include "host/comm/transports.hpp"

namespace verlc {
namespace {

using Message = std::vector<std::byte>;

// Shared by all groups that come from one make_thread_transports().
struct PostOffice {
  using Box = std::tuple<uint64_t, int, int, uint32_t>;  // group, sender, receiver, tag

  std::mutex mutex;
  std::map<Box, std::deque<Message>> boxes;
  std::string failure;
  // Split: what each member wants, by (group, number of the split), and the groups made of it by color.
  struct Wish {
    int rank;
    int color;
    int key;
  };
  std::map<std::pair<uint64_t, uint64_t>, std::vector<Wish>> wishes;
  std::map<std::tuple<uint64_t, uint64_t, int>, uint64_t> groups;
  uint64_t next_group = 1;
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(std::shared_ptr<PostOffice> office, uint64_t group, int rank, int size)
      : office_(std::move(office)), group_(group), rank_(rank), size_(size) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }

  Token post_send(int peer, uint32_t tag, const void* data, size_t bytes) noexcept override {
    Message message(bytes);
    if (bytes > 0) std::memcpy(message.data(), data, bytes);
    const std::lock_guard<std::mutex> lock(office_->mutex);
    office_->boxes[{group_, rank_, peer, tag}].push_back(std::move(message));
    return kSent;
  }

  Token post_receive(int peer, uint32_t tag, void* data, size_t capacity) noexcept override {
    const Token token = next_token_++;
    pending_.emplace(token, Receive{{group_, peer, rank_, tag}, data, capacity});
    return token;
  }

  bool test(Token token, size_t* bytes) noexcept override {
    if (token == kSent) return true;
    const auto found = pending_.find(token);
    check(found != pending_.end(), "a token is tested until it is over");
    // Messages go to receives in the order of posting.
    for (auto earlier = pending_.begin(); earlier != found; ++earlier)
      if (earlier->second.box == found->second.box) return false;
    const std::lock_guard<std::mutex> lock(office_->mutex);
    const auto box = office_->boxes.find(found->second.box);
    if (box == office_->boxes.end()) return false;
    const Message& message = box->second.front();
    check(message.size() <= found->second.capacity, "a message fits into its receive");
    if (!message.empty()) std::memcpy(found->second.data, message.data(), message.size());
    if (bytes != nullptr) *bytes = message.size();
    box->second.pop_front();
    if (box->second.empty()) office_->boxes.erase(box);
    pending_.erase(found);
    return true;
  }

  // Not part of a message exchange: members meet in the office. The caller has made sure that all are coming.
  std::unique_ptr<Transport> split(int color, int key) noexcept override {
    const uint64_t turn = num_splits_++;
    {
      const std::lock_guard<std::mutex> lock(office_->mutex);
      office_->wishes[{group_, turn}].push_back({rank_, color, key});
    }
    for (;; std::this_thread::yield()) {
      const std::lock_guard<std::mutex> lock(office_->mutex);
      if (!office_->failure.empty()) return nullptr;
      std::vector<PostOffice::Wish> members = office_->wishes[{group_, turn}];
      if (members.size() < static_cast<size_t>(size_)) continue;
      std::erase_if(members, [&](const PostOffice::Wish& wish) { return wish.color != color; });
      std::sort(members.begin(), members.end(), [](const PostOffice::Wish& a, const PostOffice::Wish& b) {
        return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
      });
      uint64_t& group = office_->groups[{group_, turn, color}];
      if (group == 0) group = office_->next_group++;
      const auto self = std::find_if(members.begin(), members.end(),
                                     [&](const PostOffice::Wish& wish) { return wish.rank == rank_; });
      return std::make_unique<ThreadTransport>(office_, group, static_cast<int>(self - members.begin()),
                                               static_cast<int>(members.size()));
    }
  }

  [[nodiscard]] std::string failure() const override {
    const std::lock_guard<std::mutex> lock(office_->mutex);
    return office_->failure;
  }

  void abort(int /*exit_code*/, const std::string& reason) noexcept override {
    const std::lock_guard<std::mutex> lock(office_->mutex);
    if (office_->failure.empty())
      office_->failure = "rank " + std::to_string(rank_) + " ended the job: " + reason;
  }

 private:
  static constexpr Token kSent = 0;
  struct Receive {
    PostOffice::Box box;
    void* data;
    size_t capacity;
  };

  std::shared_ptr<PostOffice> office_;
  uint64_t group_;
  int rank_;
  int size_;
  uint64_t num_splits_ = 0;
  Token next_token_ = 1;
  std::map<Token, Receive> pending_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int num_ranks) {
  auto office = std::make_shared<PostOffice>();
  std::vector<std::unique_ptr<Transport>> ends;
  for (int r = 0; r < num_ranks; ++r)
    ends.push_back(std::make_unique<ThreadTransport>(office, 0, r, num_ranks));
  return ends;
}

}  // namespace verlc
