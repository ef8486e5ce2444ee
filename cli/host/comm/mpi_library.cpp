#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <string>

#include "core/base/error.hpp"
#include "host/comm/openmpi/entry.hpp"
#include "host/comm/transports.hpp"

namespace verlc {
namespace {

[[noreturn]] void fail_library(const std::filesystem::path& library, const std::string& reason) {
  fail_run({.what = "cannot use the communication library: " + reason,
            .where = library.string(),
            .value = {},
            .fix = "install Open MPI (Debian: libopenmpi3) and build verlc with it, or run with one rank"});
}

}  // namespace

std::unique_ptr<Transport> open_mpi_transport(const std::filesystem::path& library, size_t chunk_bytes) {
  // Never closed: MPI keeps threads and handlers. Global, since Open MPI loads its own components, which look
  // for the symbols of libmpi in the global scope.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (handle == nullptr) fail_library(library, ::dlerror());
  const auto open = reinterpret_cast<CommEntry>(::dlsym(handle, kCommEntry));
  if (open == nullptr) fail_library(library, std::string("it has no symbol ") + kCommEntry);
  std::array<char, 512> reason{};
  std::unique_ptr<Transport> transport(open(chunk_bytes, reason.data(), reason.size()));
  if (transport == nullptr) fail_library(library, reason.data());
  return transport;
}

}  // namespace verlc
