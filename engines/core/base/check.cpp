#include "core/base/check.hpp"

#include <cstdio>
#include <cstdlib>

namespace verlc {

void invariant_broken(std::string_view rule, std::source_location where) {
  std::fprintf(stderr, "verlc: broken invariant at %s:%u in %s: %.*s\n", where.file_name(), where.line(),
               where.function_name(), static_cast<int>(rule.size()), rule.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace verlc
