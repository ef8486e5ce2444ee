// One query for each of many sequences that share pages: read together, bit for bit as read apart.
#include <algorithm>

#include "core/kernels/cpu/attention.hpp"
#include "unit/kernels/kernel_test.hpp"

namespace verlc::kernels::test {
namespace {

/// Sequences in groups; a group's members have its first `shared` pages in common and their own behind.
struct Member {
  int64_t group;
  int64_t length;  ///< keys, the query's own included
};

struct Batch {
  Batch(const AttentionShape& shape, int64_t page_size, const std::vector<int64_t>& shared_pages,
        const std::vector<Member>& members)
      : shape_(shape) {
    const int64_t row = shape.num_heads * shape.head_dim;
    Values values(static_cast<uint64_t>(page_size + shape.head_dim));
    std::vector<std::vector<size_t>> prompts;
    const auto add_page = [&] {
      pages_.push_back(values.floats(2 * kv_page_floats(shape, page_size), 2.0F));
      return pages_.size() - 1;
    };
    for (const int64_t count : shared_pages) {
      prompts.emplace_back();
      for (int64_t i = 0; i < count; ++i) prompts.back().push_back(add_page());
    }
    std::vector<std::vector<size_t>> tables;
    for (const Member& member : members) {
      std::vector<size_t> table = prompts[static_cast<size_t>(member.group)];
      const auto needed = static_cast<size_t>((member.length + page_size - 1) / page_size);
      while (table.size() < needed) table.push_back(add_page());
      table.resize(needed);
      tables.push_back(table);
    }
    q_ = values.floats(static_cast<int64_t>(members.size()) * row, 2.0F);
    for (size_t i = 0; i < members.size(); ++i) {
      k_.emplace_back();
      v_.emplace_back();
      for (const size_t page : tables[i]) {
        k_.back().push_back(pages_[page].data());
        v_.back().push_back(pages_[page].data() + kv_page_floats(shape, page_size));
      }
      int64_t equal = 0;
      while (i > 0 && equal < static_cast<int64_t>(std::min(tables[i].size(), tables[i - 1].size())) &&
             tables[i][static_cast<size_t>(equal)] == tables[i - 1][static_cast<size_t>(equal)])
        ++equal;
      sequences_.push_back({q_.data() + static_cast<int64_t>(i) * row,
                            nullptr,
                            nullptr,
                            1,
                            members[i].length - 1,
                            {},
                            equal * page_size});
    }
    for (size_t i = 0; i < members.size(); ++i) sequences_[i].pages = {k_[i].data(), v_[i].data(), page_size};
  }

  /// Outputs of all sequences, then their log-sum-exps.
  Floats run(Executor& threads, bool together) {
    const int64_t row = shape_.num_heads * shape_.head_dim;
    const auto count = static_cast<int64_t>(sequences_.size());
    Floats result = filled(count * (row + shape_.num_heads));
    std::vector<AttentionSequence> sequences = sequences_;
    for (int64_t i = 0; i < count; ++i) {
      AttentionSequence& sequence = sequences[static_cast<size_t>(i)];
      sequence.out = result.data() + i * row;
      sequence.lse = result.data() + count * row + i * shape_.num_heads;
      if (!together) sequence.shared = 0;
    }
    attention_forward(threads, shape_, sequences);
    return result;
  }

 private:
  AttentionShape shape_;
  std::vector<Floats> pages_;
  Floats q_;
  std::vector<std::vector<float*>> k_, v_;
  std::vector<AttentionSequence> sequences_;
};

std::vector<Member> members_of(const std::vector<int64_t>& shared_pages, int64_t page_size, int64_t each) {
  Values values(5);
  std::vector<Member> members;
  for (size_t g = 0; g < shared_pages.size(); ++g)
    for (int64_t i = 0; i < each; ++i)
      members.push_back({static_cast<int64_t>(g),
                         std::max<int64_t>(1, shared_pages[g] * page_size + values.integer(-9, 150))});
  return members;
}

const std::vector<AttentionShape> kShapes = {
    {9, 3, 64, 0, 0.125F}, {14, 2, 64, 0, 0.1F}, {4, 4, 32, 0, 0.2F},
    {2, 2, 6, 0, 0.4F},    {30, 1, 18, 0, 0.2F}, {3, 1, 100, 33, 0.1F},
};

}  // namespace

TEST_CASE("sequences that share pages decode together with the bits of each alone") {
  InlineExecutor one;
  ThreadPool three(3);
  on_every_target([&](const std::string&) {
    for (const AttentionShape& shape : kShapes) {
      for (const int64_t page_size : {16, 48, 128}) {
        const std::vector<int64_t> shared_pages = {1, 160 / page_size, 0, 400 / page_size, 2};
        for (const int64_t each : {1, 3, 8, 37}) {
          INFO("heads " << shape.num_heads << " head_dim " << shape.head_dim << " page " << page_size << " x "
                        << each);
          Batch batch(shape, page_size, shared_pages, members_of(shared_pages, page_size, each));
          const Floats apart = batch.run(one, false);
          REQUIRE(std::none_of(apart.begin(), apart.end(), [](float f) { return std::isnan(f); }));
          REQUIRE(same_bits(batch.run(one, true), apart));
          REQUIRE(same_bits(batch.run(three, true), apart));
        }
      }
    }
  });
}

}  // namespace verlc::kernels::test
