#include "rollout/schedule/page_pool.hpp"

#include "core/base/check.hpp"

namespace verlc::rollout {

PagePool::PagePool(int32_t num_pages) : references_(static_cast<size_t>(num_pages), 0) {
  free_.reserve(references_.size());
  for (int32_t page = num_pages; page > 0; --page) free_.push_back(page - 1);
}

std::optional<int32_t> PagePool::take() {
  if (free_.empty()) return std::nullopt;
  const int32_t page = free_.back();
  free_.pop_back();
  references_[static_cast<size_t>(page)] = 1;
  return page;
}

void PagePool::retain(int32_t page) {
  check(references(page) > 0, "only a page in use gets another reference");
  ++references_[static_cast<size_t>(page)];
}

void PagePool::release(int32_t page) {
  check(references(page) > 0, "a page is released as often as it was taken");
  if (--references_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

int64_t PageTable::num_missing(const PagePool& pool, int64_t page_size, int64_t begin, int64_t end) const {
  if (begin >= end) return 0;
  int64_t missing = 0;
  for (int64_t i = begin / page_size; i <= (end - 1) / page_size; ++i)
    if (i >= static_cast<int64_t>(pages_.size()) || pool.references(pages_[static_cast<size_t>(i)]) > 1)
      ++missing;
  return missing;
}

void PageTable::make_writable(PagePool& pool, int64_t page_size, int64_t begin, int64_t end,
                              std::vector<PageCopy>& copies) {
  if (begin >= end) return;
  for (int64_t i = begin / page_size; i <= (end - 1) / page_size; ++i) {
    const bool present = i < static_cast<int64_t>(pages_.size());
    if (present && pool.references(pages_[static_cast<size_t>(i)]) == 1) continue;
    const std::optional<int32_t> page = pool.take();
    check(page.has_value(), "pages are counted before they are taken");
    if (present) {
      int32_t& shared = pages_[static_cast<size_t>(i)];
      if (i * page_size < begin) copies.push_back({shared, *page});
      pool.release(shared);
      shared = *page;
    } else {
      check(i == static_cast<int64_t>(pages_.size()), "a sequence's pages have no gap");
      pages_.push_back(*page);
    }
  }
}

void PageTable::share(PagePool& pool, const PageTable& other, int64_t count) {
  check(pages_.empty(), "only a sequence without pages takes over those of another");
  pages_.assign(other.pages_.begin(), other.pages_.begin() + count);
  for (const int32_t page : pages_) pool.retain(page);
}

void PageTable::clear(PagePool& pool) {
  for (const int32_t page : pages_) pool.release(page);
  pages_.clear();
}

}  // namespace verlc::rollout
