// The checks of every collective, the same for every back end: run on all ranks of a group at once. Each rank
// knows every rank's data (it is a function of rank and case), so the reference is a plain loop in rank
// order.
#pragma once

#include <string>
#include <vector>

#include "host/comm/process_group.hpp"

namespace verlc::test {

/// Called before each operation, to make ranks arrive in different orders.
using Delay = void (*)(int rank, uint64_t turn);

/// What went wrong, one line each; empty when all is right. Collective.
std::vector<std::string> check_collectives(ProcessGroup& group, Delay delay);

}  // namespace verlc::test
