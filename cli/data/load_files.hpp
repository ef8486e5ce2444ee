// What the loaders of all row kinds share.
#pragma once

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>

#include "core/base/file.hpp"
#include "core/base/hash.hpp"
#include "data/dataset.hpp"

namespace verlc {

/// Reads each file, hands its bytes and name to `parse` (a vector of Row), numbers the places and keeps at
/// most `max_samples` rows (-1: all). The digest covers all bytes and the number of bytes of each file.
template <typename Row, typename Parse>
Dataset<Row> load_files(std::span<const std::filesystem::path> files, int64_t max_samples,
                        const Parse& parse) {
  Dataset<Row> dataset;
  Digest digest;
  for (const std::filesystem::path& path : files) {
    const std::string bytes = read_file(path);
    const uint64_t size = bytes.size();
    digest.update(&size, sizeof size);
    digest.update(bytes);
    for (Row& row : parse(bytes, path.string())) {
      row.place.file = dataset.files.size();
      dataset.rows.push_back(std::move(row));
    }
    dataset.files.push_back(path.string());
  }
  dataset.digest = digest.hex();
  if (max_samples >= 0 && dataset.rows.size() > static_cast<size_t>(max_samples))
    dataset.rows.resize(static_cast<size_t>(max_samples));
  return dataset;
}

}  // namespace verlc
