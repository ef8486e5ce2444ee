// Include before any Highway header: which instruction sets each kernel file is compiled for. Every file
// exports one table of functions per family; the table of the chosen target is found through
// use_cpu_target().
#pragma once

// Four emulated lanes for the portable target: Highway falls back to one lane under older compilers because
// of shuffles that the kernels do not use; the tests run every target.
#define HWY_BROKEN_EMU128 0
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)

namespace verlc::kernels {

/// Applies VERLC_CPU_TARGET on the first call of the process; cheap afterwards.
void use_cpu_target();

}  // namespace verlc::kernels
