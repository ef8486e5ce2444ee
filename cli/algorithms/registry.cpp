#include "algorithms/registry.hpp"

namespace verlc {

std::string join_names(const std::vector<std::string>& names) {
  std::string line;
  for (const std::string& name : names) {
    if (!line.empty()) line += ", ";
    line += name;
  }
  return line;
}

void fail_unknown_name(std::string_view where, std::string_view noun, const std::string& name,
                       const std::vector<std::string>& valid) {
  const std::vector<std::string> near = nearest_names(name, valid);
  std::string fix = "use one of " + join_names(valid);
  if (!near.empty()) fix = "did you mean " + join_names(near) + "? Valid are " + join_names(valid);
  fail_input({.what = "is not a known " + std::string(noun),
              .where = std::string(where),
              .value = name,
              .fix = std::move(fix)});
}

}  // namespace verlc
