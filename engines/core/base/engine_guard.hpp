// plugin::guard for our own engines: verlc::Error keeps its meaning when it crosses the C ABI.
#pragma once

#include <utility>

#include "core/base/error.hpp"
#include "verlc/plugin.hpp"

namespace verlc {

/// input -> VERLC_E_CONFIG, fit -> VERLC_E_MEMORY_HOST, run -> VERLC_E_INTERNAL.
inline verlc_status status_of(ErrorKind kind) {
  if (kind == ErrorKind::input) return VERLC_E_CONFIG;
  return kind == ErrorKind::fit ? VERLC_E_MEMORY_HOST : VERLC_E_INTERNAL;
}

/// Runs the body of a thunk; Error and every other exception become a status and a message in `error`.
/// `kind`: VERLC_ERROR_... bits of every failure but a refused argument, which has no effect.
template <typename Body>
verlc_status engine_guard(verlc_error* error, Body&& body, uint32_t kind = 0) noexcept {
  return plugin::guard(error, [&] {
    try {
      return body();
    } catch (const Error& fault) {
      throw plugin::Failure(status_of(fault.kind()), fault.what(), kind);
    } catch (const plugin::Failure& failure) {
      if (failure.status() == VERLC_E_ARGUMENT) throw;
      throw plugin::Failure(failure.status(), failure.what(), failure.kind() | kind);
    }
  });
}

}  // namespace verlc
