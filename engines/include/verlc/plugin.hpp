// C++20 convenience over plugin.h for authors of engines and plugins: header only, nothing of verlc to link.
//
// What it gives
//   guard()        turns whatever a function body throws into a status and a message: every thunk's body
//   stands in it Host           the host's services as C++ objects, with neutral behaviour where a service is
//   absent MemoryBlock, MemoryScope, Group, PendingRequest          what must be given back, given back by
//   destruction TensorView, make_managed_tensor, NamedTensor             tensors in the ABI's layout
//   PluginTable    the verlc_plugin table: capability lookup, describe, counted shutdown
//
// Weights digest, as compared by trainer and rollout after every weight update (design: "version and
// digest"):
//   for every weight, h(weight) = XXH3-128 (seed 0, canonical big-endian hex, 32 lower-case digits) over the
//   bytes
//     name, 0x00, dtype name, 0x00, shape in decimal joined by "," (empty for a scalar), 0x00, raw bytes
//     row-major;
//   the digest = XXH3-128 over the concatenation of all h(weight) hex strings in ascending byte order of the
//   names. dtype names are those of element_name() below ("f32", "bf16"); names are the Hugging Face names;
//   every weight that update_part delivers takes part once, under the dtype in which it was delivered.
#pragma once

#include "verlc/cpp/group.hpp"
#include "verlc/cpp/guard.hpp"
#include "verlc/cpp/host.hpp"
#include "verlc/cpp/memory.hpp"
#include "verlc/cpp/table.hpp"
#include "verlc/cpp/tensor.hpp"
#include "verlc/plugin.h"
