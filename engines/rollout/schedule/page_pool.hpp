// A fixed number of pages of the key and value cache, counted by reference. Only numbers: the memory is
// elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace verlc::rollout {

class PagePool {
 public:
  explicit PagePool(int32_t num_pages);

  /// A free page with one reference; none when all are taken. The page freed last comes first (warm cache).
  std::optional<int32_t> take();
  void retain(int32_t page);
  /// Drops a reference; the last one frees the page.
  void release(int32_t page);

  [[nodiscard]] int32_t references(int32_t page) const { return references_[static_cast<size_t>(page)]; }
  [[nodiscard]] int64_t num_free() const { return static_cast<int64_t>(free_.size()); }
  [[nodiscard]] int64_t num_pages() const { return static_cast<int64_t>(references_.size()); }

 private:
  std::vector<int32_t> references_;
  std::vector<int32_t> free_;
};

/// Copy the whole of page `from` to page `to`, in every layer.
struct PageCopy {
  int32_t from = 0;
  int32_t to = 0;
};

/// The pages of one sequence: entry i holds positions [i * page_size, (i + 1) * page_size). Pages that
/// another sequence holds too are copied before they are written.
class PageTable {
 public:
  /// Pages that make_writable(begin, end) would take.
  [[nodiscard]] int64_t num_missing(const PagePool& pool, int64_t page_size, int64_t begin,
                                    int64_t end) const;
  /// Makes positions [begin, end) writable; everything before `begin` is there already. The pool must have
  /// num_missing() free pages. Appends the copies to carry out, in order, before anything is written.
  void make_writable(PagePool& pool, int64_t page_size, int64_t begin, int64_t end,
                     std::vector<PageCopy>& copies);
  /// Takes over the first `count` pages of another table, sharing them. This table must be empty.
  void share(PagePool& pool, const PageTable& other, int64_t count);
  void clear(PagePool& pool);

  [[nodiscard]] const std::vector<int32_t>& pages() const { return pages_; }
  [[nodiscard]] bool empty() const { return pages_.empty(); }

 private:
  std::vector<int32_t> pages_;
};

}  // namespace verlc::rollout
