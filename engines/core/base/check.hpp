// Broken invariants: a bug of ours. The process stops at once with its location; nothing is thrown.
#pragma once

#include <source_location>
#include <string_view>

namespace verlc {

[[noreturn]] void invariant_broken(std::string_view rule, std::source_location where);

/// Stops the process when `holds` is false. Use it for what only a bug can break, never for user input.
inline void check(bool holds, std::string_view rule,
                  std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    invariant_broken(rule, where);
}

}  // namespace verlc
