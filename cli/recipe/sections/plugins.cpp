#include "recipe/sections/plugins.hpp"

namespace verlc {

void PluginsSection::fields(FieldVisitor& v) {
  v.field(&allow_user, {.key = "allow_user", .help = "also load plugins from the user's own plugin folder"});
  v.field(&paths, {.key = "paths",
                   .path = PathKind::input,
                   .unset = "none",
                   .help = "further plugin files or folders, searched first"});
  v.field(&lock, {.key = "lock",
                  .path = PathKind::input,
                  .unset = "any trusted file",
                  .help = "file written by sha256sum: only engines and plugins that it lists are loaded"});
}

}  // namespace verlc
