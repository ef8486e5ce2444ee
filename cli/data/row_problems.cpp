#include "data/row_problems.hpp"

#include <utility>

namespace verlc {
namespace {

constexpr size_t kShown = 6;
constexpr size_t kMostBytes = 100;

}  // namespace

void RowProblems::add(size_t line, const std::string& key, std::string what, std::string value,
                      std::string fix) {
  ++count_;
  if (first_.size() >= kShown) return;
  std::string where = file_;
  if (line > 0) where.append(":").append(std::to_string(line));
  if (!key.empty()) where.append(": ").append(key);
  if (value.size() > kMostBytes) {
    size_t end = kMostBytes;
    while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80U)
      --end;  // not inside a character
    value = value.substr(0, end) + "...";
  }
  first_.push_back(
      {.what = std::move(what), .where = std::move(where), .value = std::move(value), .fix = std::move(fix)});
}

void RowProblems::fail_if_any() const {
  if (first_.empty()) return;
  ErrorText text = first_.front();
  std::string more;
  for (size_t i = 1; i < first_.size(); ++i)
    more.append(i > 1 ? "; " : "").append(first_[i].where).append(": ").append(first_[i].what);
  if (!more.empty()) {
    if (!text.fix.empty()) text.fix += ". ";
    text.fix += "mend these too: " + more;
    if (count_ > first_.size()) text.fix += " (" + std::to_string(count_) + " problems in all)";
  }
  fail_input(std::move(text));
}

}  // namespace verlc
