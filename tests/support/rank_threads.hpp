// Ranks as threads of one process: code that takes a GroupReducer runs as it does under MPI.
#pragma once

#include <algorithm>
#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "algorithms/group_reducer.hpp"

namespace verlc::test {

/// Runs body(rank, reducer) on `ranks` threads and returns when all are done. Bodies must make the same
/// reducer calls; Catch2 assertions belong outside of them.
inline void run_ranks(size_t ranks, const std::function<void(size_t, GroupReducer&)>& body) {
  std::barrier<> barrier(static_cast<std::ptrdiff_t>(ranks));
  std::vector<std::vector<double>> posted(ranks);

  class Reducer final : public GroupReducer {
   public:
    Reducer(size_t rank, std::barrier<>& barrier, std::vector<std::vector<double>>& posted)
        : rank_(rank), barrier_(barrier), posted_(posted) {}
    void sum(std::span<double> values) override {
      reduce(values, [](double a, double b) { return a + b; });
    }
    void max(std::span<double> values) override {
      reduce(values, [](double a, double b) { return std::max(a, b); });
    }
    void min(std::span<double> values) override {
      reduce(values, [](double a, double b) { return std::min(a, b); });
    }

   private:
    void reduce(std::span<double> values, double (*combine)(double, double)) {
      posted_[rank_].assign(values.begin(), values.end());
      barrier_.arrive_and_wait();
      std::copy(posted_[0].begin(), posted_[0].end(), values.begin());
      for (size_t other = 1; other < posted_.size(); ++other)
        for (size_t i = 0; i < values.size(); ++i) values[i] = combine(values[i], posted_[other].at(i));
      barrier_.arrive_and_wait();
    }

    size_t rank_;
    std::barrier<>& barrier_;
    std::vector<std::vector<double>>& posted_;
  };

  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Reducer reducer(rank, barrier, posted);
      body(rank, reducer);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace verlc::test
