#include "data/length_limit.hpp"

#include <algorithm>

#include "core/base/check.hpp"
#include "core/base/error.hpp"

namespace verlc {
namespace {

struct Overlong {
  std::string where;
  int64_t length = 0;
};

// `rows` are the first of `count` rows.
[[noreturn]] void fail_overlong(const std::vector<Overlong>& rows, size_t count, int64_t longest,
                                const LengthLimit& limit) {
  std::string fix = "set " + limit.key + " to " + std::to_string(longest) +
                    " or more, or data.filter_overlong_prompts = true to leave such rows out";
  for (size_t i = 1; i < rows.size(); ++i) {
    fix += i == 1 ? ". Too long as well: " : "; ";
    fix += rows[i].where + " (" + std::to_string(rows[i].length) + ")";
  }
  if (count > rows.size()) fix += " (" + std::to_string(count) + " rows in all)";
  fail_input({.what = "is longer than " + limit.key + " = " + std::to_string(limit.most) + " tokens",
              .where = rows.front().where,
              .value = std::to_string(rows.front().length) + " tokens",
              .fix = std::move(fix)});
}

template <typename Row>
size_t limit_rows(Dataset<Row>& dataset, std::span<const int64_t> lengths, const LengthLimit& limit) {
  check(lengths.size() == dataset.rows.size(), "one length per row");
  constexpr size_t kShown = 6;
  std::vector<Overlong> overlong;
  std::vector<Row> kept;
  size_t count = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] <= limit.most) {
      if (limit.filter) kept.push_back(std::move(dataset.rows[i]));
      continue;
    }
    ++count;
    if (!limit.filter && overlong.size() < kShown)
      overlong.push_back({.where = dataset.where(i), .length = lengths[i]});
  }
  if (!limit.filter) {
    if (count > 0) fail_overlong(overlong, count, *std::max_element(lengths.begin(), lengths.end()), limit);
    return 0;
  }
  if (kept.empty() && !lengths.empty())
    fail_input({.what = "every row is longer than the limit",
                .where = limit.key,
                .value = std::to_string(limit.most),
                .fix = "the shortest row has " +
                       std::to_string(*std::min_element(lengths.begin(), lengths.end())) + " tokens"});
  dataset.rows = std::move(kept);
  return count;
}

}  // namespace

size_t limit_lengths(PromptDataset& dataset, std::span<const int64_t> lengths, const LengthLimit& limit) {
  return limit_rows(dataset, lengths, limit);
}

size_t limit_lengths(SftDataset& dataset, std::span<const int64_t> lengths, const LengthLimit& limit) {
  return limit_rows(dataset, lengths, limit);
}

}  // namespace verlc
