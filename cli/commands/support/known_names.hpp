// The names that other components own and that recipes refer to, gathered for the recipe's rules.
#pragma once

#include "recipe/rule.hpp"

namespace verlc {

/// Supported model architectures and scorers. Engine names are left to the plugin loader's search.
KnownNames known_names();

}  // namespace verlc
