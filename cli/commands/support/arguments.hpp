// Says what is wrong with a command line, with the nearest legal word.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace verlc {

/// Explains a failed parse of `args` (without the program's name). `message` is the parser's own, used when
/// no word of the line is unknown.
ErrorText explain_arguments(CLI::App& app, const std::vector<std::string>& args, const std::string& message);

}  // namespace verlc
