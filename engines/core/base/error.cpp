#include "core/base/error.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace verlc {
namespace {

std::string one_line(const ErrorText& text) {
  std::string line;
  if (!text.where.empty()) line += text.where + ": ";
  line += text.what;
  if (!text.value.empty()) line += " (value: " + text.value + ")";
  if (!text.fix.empty()) line += "; fix: " + text.fix;
  return line;
}

// Levenshtein distance with one row of state.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, substitute}));
    }
  }
  return row[b.size()];
}

}  // namespace

Error::Error(ErrorKind kind, ErrorText text) : kind_(kind), text_(std::move(text)), line_(one_line(text_)) {}

void fail_input(ErrorText text) {
  throw Error(ErrorKind::input, std::move(text));
}
void fail_run(ErrorText text) {
  throw Error(ErrorKind::run, std::move(text));
}

std::vector<std::string> nearest_names(const std::string& name, const std::vector<std::string>& candidates,
                                       size_t most) {
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    const bool inside = name.size() >= 4 && candidate.find(name) != std::string::npos;
    if (distance <= std::max<size_t>(2, name.size() / 3) || inside) near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < most; ++i) names.push_back(near[i].second);
  return names;
}

}  // namespace verlc
