// Names that users of verl know, and what they are called here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace verlc {

/// What stands in for verl's key `path` (with or without its "actor_rollout_ref." prefix).
struct Rename {
  std::string key;     ///< our key; empty when there is none
  std::string reason;  ///< why there is none, or how the value differs; may be empty
};
std::optional<Rename> verl_rename(std::string_view path);

}  // namespace verlc
