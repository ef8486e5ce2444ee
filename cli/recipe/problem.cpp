#include "recipe/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace verlc {

std::string Problem::where() const {
  if (origin.file.empty()) return key;
  std::string text = origin.file;
  if (origin.line > 0) text += fmt::format(":{}", origin.line);
  return key.empty() ? text : text + " " + key;
}

void Problems::add(const std::string& key, std::string value, std::string rule, std::string fix) {
  const auto found = origins_.find(key);
  add_at(found == origins_.end() ? Origin{} : found->second, key, std::move(value), std::move(rule),
         std::move(fix));
}

void Problems::add_at(Origin origin, const std::string& key, std::string value, std::string rule,
                      std::string fix) {
  bad_.insert(key);
  Problem& problem = list_.emplace_back();
  problem.key = key;
  problem.origin = std::move(origin);
  problem.value = std::move(value);
  problem.rule = std::move(rule);
  problem.fix = std::move(fix);
}

void Problems::note(const std::string& key, std::string text) {
  notes_.push_back(key + ": " + std::move(text));
}

std::vector<Problem> Problems::sorted() const {
  std::vector<Problem> list = list_;
  std::stable_sort(list.begin(), list.end(), [](const Problem& a, const Problem& b) {
    return std::tie(a.origin.file, a.origin.line, a.key) < std::tie(b.origin.file, b.origin.line, b.key);
  });
  return list;
}

ErrorText problems_as_error(const std::string& recipe_path, const std::vector<Problem>& problems) {
  if (problems.size() == 1) {
    const Problem& only = problems.front();
    return {only.rule, only.where(), only.value, only.fix};
  }
  std::string text = fmt::format("{} problems", problems.size());
  for (size_t i = 0; i < problems.size(); ++i) {
    const Problem& problem = problems[i];
    text += fmt::format("\n{:3}. {}: {}", i + 1, problem.where(), problem.rule);
    if (!problem.value.empty()) text += " (value: " + problem.value + ")";
    if (!problem.fix.empty()) text += "\n     fix: " + problem.fix;
  }
  return {text, recipe_path, "", "mend them and run `verlc check` again"};
}

}  // namespace verlc
