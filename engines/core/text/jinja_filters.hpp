// The two halves of the filter table.
#pragma once

#include <map>
#include <string_view>

#include "core/text/jinja_builtins.hpp"

namespace verlc::text::jinja {

using FilterTable = std::map<std::string_view, Filter>;

/// Filters of text and numbers: trim, replace, tojson, ...
void add_scalar_filters(FilterTable& table);
/// Filters of lists and dicts: map, select, sort, ...
void add_sequence_filters(FilterTable& table);

}  // namespace verlc::text::jinja
