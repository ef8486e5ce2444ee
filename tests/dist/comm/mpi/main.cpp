// Run under mpirun: the checks of every collective over the MPI back end.
// Arguments: library, ranks expected, bytes above which a message is cut into pieces.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "dist/comm/collective_checks.hpp"
#include "host/comm/process_group.hpp"
#include "host/comm/transports.hpp"

int main(int argc, char** argv) {
  try {
    const size_t chunk_bytes = argc > 3 ? std::stoul(argv[3]) : size_t{1} << 30;
    verlc::ProcessGroup group(verlc::open_mpi_transport(argc > 1 ? argv[1] : "", chunk_bytes));
    if (argc > 2 && std::to_string(group.size()) != argv[2]) {
      std::printf("rank %d: the job has %d ranks, %s expected\n", group.rank(), group.size(), argv[2]);
      return 1;
    }
    const std::vector<std::string> problems = verlc::test::check_collectives(group, nullptr);
    for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
    return problems.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}
