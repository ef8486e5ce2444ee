// Running a parsed template.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/jinja_ast.hpp"
#include "core/text/jinja_value.hpp"

namespace verlc::text::jinja {

/// Renders with the given variables. `now` is the time that strftime_now sees, in seconds since 1970.
/// Error(input) naming the template's line for faults of the template and for raise_exception; also when it
/// takes too many steps, nests too deep or prints too much, so that no template can hang or fill the memory.
std::string render(const Body& body, std::string_view name,
                   std::vector<std::pair<std::string, Value>> variables, int64_t now);

}  // namespace verlc::text::jinja
