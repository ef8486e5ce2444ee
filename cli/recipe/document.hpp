// The TOML behind a recipe: the file, the file it inherits from, and the command line's --set, as layers.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipe/problem.hpp"
#include "recipe/toml.hpp"

namespace verlc {

/// One source of values; a later layer wins over an earlier one, key by key.
struct Layer {
  toml::table table;
  std::filesystem::path file;  ///< empty for --set

  /// The node at a dotted path of this layer, or null.
  [[nodiscard]] const toml::node* find(std::string_view path) const;
  [[nodiscard]] Origin origin(const toml::node& node) const;
};

/// Layers, lowest first.
struct Document {
  std::vector<Layer> layers;
};

/// Whether a field takes its --set text as a string without quotes; absent: there is no such field.
using TextFields = std::map<std::string, bool, std::less<>>;

/// Parses `path`, the chain of its `base` keys, and the overrides "a.b=value". Syntax faults are added to
/// `problems` (file:line:column); the document then holds the layers that could be read. Throws Error(input)
/// when `path` itself can't be read.
Document read_document(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const TextFields& fields, Problems& problems);

/// As read_document for TOML text already in memory that stands for `path`; `base` is followed too.
Document read_document_text(std::string_view text, const std::filesystem::path& path,
                            const std::vector<std::string>& overrides, const TextFields& fields,
                            Problems& problems);

}  // namespace verlc
