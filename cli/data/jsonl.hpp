// A JSONL text as numbered lines.
#pragma once

#include <functional>
#include <string_view>

#include "data/json_line.hpp"
#include "data/row_problems.hpp"

namespace verlc {

/// Calls visit(line number from 1, line text, object) for each line that holds a JSON object; blank lines are
/// passed over, a byte order mark in front is dropped. Every other line, a file without any row, and a file
/// that is Parquet or one JSON array are added to `problems`.
void for_each_row(std::string_view bytes, RowProblems& problems,
                  const std::function<void(size_t, std::string_view, const OrderedJson&)>& visit);

/// The value on one line for messages, with bytes that are no UTF-8 replaced.
std::string shown_json(const OrderedJson& value);

}  // namespace verlc
