// Which instruction set the kernels run on: chosen once from the CPU, lowered by tests and by
// VERLC_CPU_TARGET.
#pragma once

#include <string>
#include <vector>

namespace verlc::kernels {

/// Names of the targets that this build and this CPU support, best first ("avx512_bf16", "avx512", "avx2",
/// "portable").
std::vector<std::string> cpu_targets();
/// The one in use.
std::string cpu_target();
/// Whether it is one with bfloat16 dot products of its own.
bool cpu_target_has_bf16_dot();
/// Forces one of cpu_targets() for the whole process; throws Error(input) naming the valid ones. Call it
/// before any kernel runs on another thread.
void set_cpu_target(const std::string& name);

}  // namespace verlc::kernels
