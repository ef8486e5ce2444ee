// The one form in which a fault reaches the terminal.
#pragma once

#include <string>

#include "core/base/error.hpp"

namespace verlc {

/// "error: where: what (value: ...)\n  fix: ...\n"
std::string error_report(const ErrorText& text);
/// Writes error_report to stderr.
void print_error(const ErrorText& text);

}  // namespace verlc
