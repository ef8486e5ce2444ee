// The back ends of Transport.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "host/comm/transport.hpp"

namespace verlc {

/// One rank alone.
std::unique_ptr<Transport> make_local_transport();

/// `num_ranks` ends of one group inside this process, for tests: give each to its own thread.
std::vector<std::unique_ptr<Transport>> make_thread_transports(int num_ranks);

/// The world group of MPI, through the shared object at `library` (lib/verlc/comm/openmpi.so), so that the
/// program itself links no MPI. Initialises MPI; destroying it finalises. Throws Error(run) naming the
/// library and the cause.
/// Messages above `chunk_bytes` travel in pieces, since MPI's counts are int.
std::unique_ptr<Transport> open_mpi_transport(const std::filesystem::path& library,
                                              size_t chunk_bytes = size_t{1} << 30);

}  // namespace verlc
