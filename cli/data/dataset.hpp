// Rows of one or several files, and where each came from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace verlc {

/// Where a row stands: index into Dataset::files, and line from 1.
struct RowPlace {
  size_t file = 0;
  size_t line = 0;
};

/// Rows in file order. `Row` has a member `place`.
template <typename Row>
struct Dataset {
  std::vector<std::string> files{};
  std::vector<Row> rows{};
  std::string digest{};  ///< of all bytes of all files in order: 32 hexadecimal digits

  /// "file:line" of row i.
  [[nodiscard]] std::string where(size_t i) const {
    return files[rows[i].place.file] + ":" + std::to_string(rows[i].place.line);
  }
};

}  // namespace verlc
