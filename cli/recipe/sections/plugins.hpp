// [plugins]: where engines and rewards outside the installation may come from.
#pragma once

#include "recipe/field.hpp"

namespace verlc {

struct PluginsSection {
  bool allow_user = false;         ///< also search the user's plugin folder
  std::vector<std::string> paths;  ///< further files or folders, absolute
  std::string lock;                ///< file of the hashes that may be loaded, absolute; empty = any

  void fields(FieldVisitor& visitor);
  bool operator==(const PluginsSection&) const = default;
};

}  // namespace verlc
