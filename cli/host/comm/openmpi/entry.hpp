// The one symbol of a communication back end in a shared object, e.g. lib/verlc/comm/openmpi.so.
#pragma once

#include <cstddef>

#include "host/comm/transport.hpp"

namespace verlc {

/// Also in the symbol's name: changes with Transport.
inline constexpr const char* kCommEntry = "verlc_comm_open_v1";

/// Initialises the library and gives the world transport, or null with a NUL-terminated reason in `reason`.
/// Messages above `chunk_bytes` travel in pieces.
using CommEntry = Transport* (*)(size_t chunk_bytes, char* reason, size_t reason_size) noexcept;

}  // namespace verlc
