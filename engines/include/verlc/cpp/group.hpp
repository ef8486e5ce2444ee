// Process groups of the comm service. Part of verlc/plugin.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "verlc/cpp/tensor.hpp"

namespace verlc::plugin {
/// A collective under way. Destroyed unwaited, it waits (without reporting): the buffers must outlive the
/// transfer.
class PendingRequest {
 public:
  PendingRequest() = default;
  PendingRequest(const verlc_comm_service* service, verlc_comm* group, uint64_t request)
      : service_(service), group_(group), request_(request) {}
  PendingRequest(PendingRequest&& other) noexcept { swap(other); }
  PendingRequest& operator=(PendingRequest&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PendingRequest() {
    if (service_ != nullptr) service_->wait(group_, request_, -1, nullptr);
  }
  /// Throws Failure(VERLC_E_COMM) naming rank, phase and operation when it fails or is late. No-op when done.
  void wait() {
    if (service_ == nullptr) return;
    auto error = make_struct<verlc_error>();
    throw_if_failed(std::exchange(service_, nullptr)->wait(group_, request_, -1, &error), error);
  }

 private:
  void swap(PendingRequest& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(group_, other.group_);
    std::swap(request_, other.request_);
  }
  const verlc_comm_service* service_ = nullptr;
  verlc_comm* group_ = nullptr;
  uint64_t request_ = 0;
};

/// A process group: borrowed from the topology, or owned when it came from split(). The rules of
/// verlc_comm_service hold: every rank calls, in the same order, also with zero elements; sums are in rank
/// order. Without a service or group it is one rank alone, whose collectives are copies.
class Group {
 public:
  Group() = default;
  Group(const verlc_comm_service* service, verlc_comm* group) : service_(service), group_(group) {}
  Group(Group&& other) noexcept { swap(other); }
  Group& operator=(Group&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Group() {
    if (owned_) service_->drop(group_);
  }

  [[nodiscard]] bool alone() const { return group_ == nullptr || service_ == nullptr; }
  [[nodiscard]] int32_t rank() const { return alone() ? 0 : service_->rank(group_); }
  [[nodiscard]] int32_t size() const { return alone() ? 1 : service_->size(group_); }
  [[nodiscard]] verlc_comm* get() const { return group_; }
  [[nodiscard]] const verlc_comm_service* service() const { return service_; }

  [[nodiscard]] Group split(int32_t color, int32_t key) {
    Group part;
    if (alone()) return part;
    verlc_comm* out = nullptr;
    call([&](verlc_error* e) { return service_->split(group_, color, key, &out, e); });
    part.service_ = service_;
    part.group_ = out;
    part.owned_ = true;
    return part;
  }
  void barrier() {
    if (!alone()) call([&](verlc_error* e) { return service_->barrier(group_, e); });
  }
  /// out may be in. Counts equal.
  template <typename T>
  void all_reduce(std::span<const T> in, std::span<T> out, int32_t op = VERLC_REDUCE_SUM) {
    start_all_reduce(in, out, op).wait();
  }
  template <typename T>
  [[nodiscard]] PendingRequest start_all_reduce(std::span<const T> in, std::span<T> out,
                                                int32_t op = VERLC_REDUCE_SUM) {
    return start(in, out, [&](const verlc_buffer* i, verlc_buffer* o, uint64_t* r, verlc_error* e) {
      return service_->all_reduce(group_, i, o, op, nullptr, r, e);
    });
  }
  /// in: size() * out.size() elements.
  template <typename T>
  [[nodiscard]] PendingRequest start_reduce_scatter(std::span<const T> in, std::span<T> out,
                                                    int32_t op = VERLC_REDUCE_SUM) {
    return start(in, out, [&](const verlc_buffer* i, verlc_buffer* o, uint64_t* r, verlc_error* e) {
      return service_->reduce_scatter(group_, i, o, op, nullptr, r, e);
    });
  }
  /// out: size() * in.size() elements, rank by rank.
  template <typename T>
  [[nodiscard]] PendingRequest start_all_gather(std::span<const T> in, std::span<T> out) {
    return start(in, out, [&](const verlc_buffer* i, verlc_buffer* o, uint64_t* r, verlc_error* e) {
      return service_->all_gather(group_, i, o, nullptr, r, e);
    });
  }
  /// Elements per rank to send and to receive, size() of each; parts are dense and in rank order.
  template <typename T>
  [[nodiscard]] PendingRequest start_all_to_all(std::span<const T> in, std::span<const int64_t> send_counts,
                                                std::span<T> out, std::span<const int64_t> receive_counts) {
    return start(in, out, [&](const verlc_buffer* i, verlc_buffer* o, uint64_t* r, verlc_error* e) {
      return service_->all_to_all(group_, i, send_counts.data(), o, receive_counts.data(), nullptr, r, e);
    });
  }
  /// Matched by (peer, tag) in order; a group of one rank has no peer.
  template <typename T>
  [[nodiscard]] PendingRequest start_send(std::span<const T> data, int32_t peer, int32_t tag) {
    const verlc_buffer buffer = buffer_of(data);
    uint64_t request = 0;
    call([&](verlc_error* e) { return service_->send(group_, &buffer, peer, tag, nullptr, &request, e); });
    return {service_, group_, request};
  }
  template <typename T>
  [[nodiscard]] PendingRequest start_receive(std::span<T> data, int32_t peer, int32_t tag) {
    verlc_buffer buffer = buffer_of(std::span<const T>(data));
    uint64_t request = 0;
    call([&](verlc_error* e) { return service_->receive(group_, &buffer, peer, tag, nullptr, &request, e); });
    return {service_, group_, request};
  }
  template <typename T>
  void broadcast(std::span<T> data, int32_t root) {
    if (alone()) return;
    verlc_buffer buffer = buffer_of(std::span<const T>(data));
    call([&](verlc_error* e) { return service_->broadcast(group_, &buffer, root, nullptr, nullptr, e); });
  }

  template <typename T>
  static verlc_buffer buffer_of(std::span<const T> data) {
    const ElementType type = element_of<T>();
    return {const_cast<T*>(data.data()), data.size(), VERLC_DEVICE_CPU, 0, type.code, type.bits, 0, 0};
  }

 private:
  template <typename Call>
  void call(Call&& body) {
    auto error = make_struct<verlc_error>();
    throw_if_failed(body(&error), error);
  }
  template <typename T, typename Start>
  PendingRequest start(std::span<const T> in, std::span<T> out, Start&& body) {
    if (alone()) {
      if (!in.empty() && in.data() != out.data())
        std::memmove(out.data(), in.data(), std::min(in.size_bytes(), out.size_bytes()));
      return {};
    }
    const verlc_buffer from = buffer_of(in);
    verlc_buffer to = buffer_of(std::span<const T>(out));
    uint64_t request = 0;
    call([&](verlc_error* e) { return body(&from, &to, &request, e); });
    return {service_, group_, request};
  }
  void swap(Group& other) noexcept {
    std::swap(service_, other.service_);
    std::swap(group_, other.group_);
    std::swap(owned_, other.owned_);
  }
  const verlc_comm_service* service_ = nullptr;
  verlc_comm* group_ = nullptr;
  bool owned_ = false;
};

}  // namespace verlc::plugin
