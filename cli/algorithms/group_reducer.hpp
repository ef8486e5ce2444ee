// The seam to ranks: what pure code needs of a process group, and nothing more.
#pragma once

#include <span>

namespace verlc {

/// Element-wise reductions over all ranks of a group, in place; afterwards every rank holds the same values.
/// Every rank joins every call, in the same order and with the same length, also when it holds no data.
class GroupReducer {
 public:
  virtual ~GroupReducer() = default;
  virtual void sum(std::span<double> values) = 0;
  virtual void max(std::span<double> values) = 0;
  virtual void min(std::span<double> values) = 0;
};

/// A group of one rank.
class LocalReducer final : public GroupReducer {
 public:
  void sum(std::span<double> /*values*/) override {}
  void max(std::span<double> /*values*/) override {}
  void min(std::span<double> /*values*/) override {}
};

}  // namespace verlc
