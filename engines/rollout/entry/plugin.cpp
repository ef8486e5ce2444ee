// The shared object's note and its one exported symbol.
#include "rollout/api.hpp"

VERLC_PLUGIN("rollout", "0.1.0", VERLC_CAPABILITY_ROLLOUT, 0, verlc::rollout::open_plugin)
