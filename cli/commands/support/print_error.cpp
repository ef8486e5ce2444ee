#include "commands/support/print_error.hpp"

#include <cstdio>

namespace verlc {

std::string error_report(const ErrorText& text) {
  std::string report = "error: ";
  if (!text.where.empty()) report += text.where + ": ";
  report += text.what;
  if (!text.value.empty()) report += " (value: " + text.value + ")";
  report += '\n';
  if (!text.fix.empty()) report += "  fix: " + text.fix + '\n';
  return report;
}

void print_error(const ErrorText& text) {
  std::fputs(error_report(text).c_str(), stderr);
}

}  // namespace verlc
