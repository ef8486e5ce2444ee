// Transport over MPI. Compiled into its own shared object, so that only jobs of several ranks load MPI.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host/comm/openmpi/entry.hpp"

namespace verlc {
namespace {

class MpiTransport final : public Transport {
 public:
  MpiTransport(MPI_Comm comm, size_t chunk, bool world) : comm_(comm), chunk_(chunk), world_(world) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;
  ~MpiTransport() override {
    // With messages under way or after a failure, finalising could wait for ever; the process ends anyway.
    if (!failure_.empty() || !pending_.empty()) return;
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized != 0) return;
    MPI_Comm_free(&comm_);
    if (world_) MPI_Finalize();
  }

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }

  Token post_send(int peer, uint32_t tag, const void* data, size_t bytes) noexcept override {
    return post(bytes, [&](size_t offset, int count, MPI_Request* request) {
      return MPI_Isend(static_cast<const char*>(data) + offset, count, MPI_BYTE, peer, static_cast<int>(tag),
                       comm_, request);
    });
  }

  Token post_receive(int peer, uint32_t tag, void* data, size_t capacity) noexcept override {
    return post(capacity, [&](size_t offset, int count, MPI_Request* request) {
      return MPI_Irecv(static_cast<char*>(data) + offset, count, MPI_BYTE, peer, static_cast<int>(tag), comm_,
                       request);
    });
  }

  bool test(Token token, size_t* bytes) noexcept override {
    const auto found = pending_.find(token);
    if (found == pending_.end()) {
      note("test of an unknown message", MPI_ERR_REQUEST);
      return false;
    }
    Message& message = found->second;
    for (; message.done < message.requests.size(); ++message.done) {
      int complete = 0;
      MPI_Status status;
      if (note("MPI_Test", MPI_Test(&message.requests[message.done], &complete, &status))) return false;
      if (complete == 0) return false;
      int count = 0;
      MPI_Get_count(&status, MPI_BYTE, &count);
      message.bytes += static_cast<size_t>(std::max(0, count));
    }
    if (bytes != nullptr) *bytes = message.bytes;
    pending_.erase(found);
    return true;
  }

  std::unique_ptr<Transport> split(int color, int key) noexcept override {
    MPI_Comm part = MPI_COMM_NULL;
    // MPI wants colors >= 0; the sign becomes the lowest bit.
    const int shifted = color >= 0 ? 2 * (color % (1 << 29)) : 2 * (-(color + 1) % (1 << 29)) + 1;
    if (note("MPI_Comm_split", MPI_Comm_split(comm_, shifted, key, &part))) return nullptr;
    return std::make_unique<MpiTransport>(part, chunk_, false);
  }

  [[nodiscard]] std::string failure() const override { return failure_; }

  void abort(int exit_code, const std::string& /*reason*/) noexcept override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
  }

 private:
  struct Message {
    std::vector<MPI_Request> requests;
    size_t done = 0;
    size_t bytes = 0;
  };

  template <typename Start>
  Token post(size_t bytes, Start start) noexcept {
    const Token token = next_token_++;
    Message& message = pending_[token];
    size_t offset = 0;
    do {
      const size_t piece = std::min(chunk_, bytes - offset);
      message.requests.push_back(MPI_REQUEST_NULL);
      if (note("MPI message", start(offset, static_cast<int>(piece), &message.requests.back()))) break;
      offset += piece;
    } while (offset < bytes);
    return token;
  }

  // Keeps the first failure; true when there is one now.
  bool note(const char* call, int code) noexcept {
    if (code == MPI_SUCCESS) return false;
    if (failure_.empty()) {
      char text[MPI_MAX_ERROR_STRING] = "unknown error";
      int length = 0;
      MPI_Error_string(code, text, &length);
      failure_ = std::string(call) + ": " + text;
    }
    return true;
  }

  MPI_Comm comm_;
  size_t chunk_;
  bool world_;
  int rank_ = 0;
  int size_ = 1;
  Token next_token_ = 1;
  std::unordered_map<Token, Message> pending_;
  std::string failure_;
};

Transport* open_world(size_t chunk_bytes, char* reason, size_t reason_size) {
  int initialized = 0;
  int provided = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  if (initialized == 0 &&
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
    std::snprintf(reason, reason_size, "MPI_Init_thread failed");
    return nullptr;
  }
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(reason, reason_size, "this MPI library does not allow calls from several threads");
    return nullptr;
  }
  // A communicator of our own: other users of MPI in the process can't meet our tags.
  MPI_Comm comm = MPI_COMM_NULL;
  if (MPI_Comm_dup(MPI_COMM_WORLD, &comm) != MPI_SUCCESS) {
    std::snprintf(reason, reason_size, "MPI_Comm_dup failed");
    return nullptr;
  }
  return std::make_unique<MpiTransport>(comm, chunk_bytes, initialized == 0).release();
}

}  // namespace
}  // namespace verlc

extern "C" __attribute__((visibility("default"))) verlc::Transport* verlc_comm_open_v1(
    size_t chunk_bytes, char* reason, size_t reason_size) noexcept {
  return verlc::open_world(chunk_bytes, reason, reason_size);
}
