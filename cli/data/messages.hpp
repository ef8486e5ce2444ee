// Lists of chat messages in a row.
#pragma once

#include <string>

#include "data/json_line.hpp"
#include "data/row_problems.hpp"

namespace verlc {

/// Adds to `problems` what keeps `messages` (the value of `key` in line `line`) from being a conversation: a
/// non-empty list of objects, each with a non-empty string `role` and a string `content`; a message with
/// `tool_calls` may leave its content out. Returns whether all is well.
bool check_messages(const OrderedJson& messages, size_t line, const std::string& key, RowProblems& problems);

/// The same for `tools`: absent, null or a list of objects.
bool check_tools(const OrderedJson& row, size_t line, RowProblems& problems);

/// Rows with images or videos are refused: dropping them would change the task.
bool check_text_only(const OrderedJson& row, size_t line, RowProblems& problems);

/// The member, or null when it is absent.
const OrderedJson& member_or_null(const OrderedJson& object, const std::string& key);

}  // namespace verlc
