#include "core/kernels/cpu/target.hpp"

#include "core/kernels/cpu/dispatch.hpp"
//
#include <hwy/targets.h>

#include <atomic>
#include <cstdlib>
#include <utility>

#include "core/base/error.hpp"
#include "core/kernels/cpu/gemm_table.hpp"

namespace verlc::kernels {
namespace {

struct NamedTarget {
  const char* name;
  int64_t bit;
  bool bf16_dot;
};

constexpr NamedTarget kTargets[] = {{"avx512_bf16", HWY_AVX3, true},
                                    {"avx512", HWY_AVX3, false},
                                    {"avx2", HWY_AVX2, false},
                                    {"portable", HWY_STATIC_TARGET, false}};

std::atomic<bool> bf16_dot{false};

bool runs_here(const NamedTarget& target) {
  if (target.bf16_dot && native_dot_panel() == nullptr) return false;
  return target.bit == HWY_STATIC_TARGET || ((hwy::SupportedTargets() & HWY_TARGETS & target.bit) != 0);
}

std::string join(const std::vector<std::string>& names) {
  std::string line;
  for (const std::string& name : names) line += (line.empty() ? "" : ", ") + name;
  return line;
}

void choose(const std::string& name, const std::string& where) {
  for (const NamedTarget& target : kTargets) {
    if (name == target.name && runs_here(target)) {
      hwy::GetChosenTarget().Update(target.bit);
      bf16_dot.store(target.bf16_dot, std::memory_order_relaxed);
      return;
    }
  }
  fail_input({.what = "this CPU target is not available on this machine",
              .where = where,
              .value = name,
              .fix = "use one of " + join(cpu_targets())});
}

bool has_fast_bf16_dot() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

bool choose_first() {
  const char* wanted = std::getenv("VERLC_CPU_TARGET");
  choose(wanted != nullptr && *wanted != '\0' ? std::string(wanted) : cpu_targets().front(),
         "VERLC_CPU_TARGET");
  return true;
}

}  // namespace

std::vector<std::string> cpu_targets() {
  std::vector<std::string> names;
  for (const NamedTarget& target : kTargets) {
    if (runs_here(target)) names.emplace_back(target.name);
  }
  // vdpbf16ps has twice the rate of multiply-adds on AMD's Zen 4 and half of it on Intel's server cores
  // (measured on Sapphire Rapids: 73 against 149 GF/s), where widened multiply-adds are the faster bfloat16
  // product.
  if (names.size() > 1 && names[0] == "avx512_bf16" && !has_fast_bf16_dot()) std::swap(names[0], names[1]);
  return names;
}

void use_cpu_target() {
  [[maybe_unused]] static const bool chosen = choose_first();
}

std::string cpu_target() {
  use_cpu_target();
  const size_t index = hwy::GetChosenTarget().GetIndex();
  for (const NamedTarget& target : kTargets) {
    hwy::ChosenTarget candidate;
    candidate.Update(target.bit);
    if (candidate.GetIndex() == index && target.bf16_dot == bf16_dot.load(std::memory_order_relaxed))
      return target.name;
  }
  return "portable";
}

bool cpu_target_has_bf16_dot() {
  use_cpu_target();
  return bf16_dot.load(std::memory_order_relaxed);
}

DotPanel dot_panel() {
  return cpu_target_has_bf16_dot() ? native_dot_panel() : nullptr;
}

void set_cpu_target(const std::string& name) {
  use_cpu_target();
  choose(name, "cpu target");
}

}  // namespace verlc::kernels
