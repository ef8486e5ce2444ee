// Bytes by category and phase from config.json alone.
#pragma once

#include <string>
#include <string_view>

#include "fsdp/config.hpp"

namespace verlc::fsdp {

/// workload: {"ranks", "tokens" (largest micro-batch), "shared" (tokens of it that repeat the prompt of
/// another sequence, 0 unless prompts are shared; they are not computed), "rows" (loss tokens in it),
/// "longest", "threads"}. Gives
/// {"phases": {"idle" | "forward" | "forward_backward" | "optimizer_step": {category: bytes}}} for one rank.
/// The counts are those of the ops that the engine runs: what each keeps for backward, float32 throughout.
std::string estimate(const Config& config, std::string_view workload);

}  // namespace verlc::fsdp
