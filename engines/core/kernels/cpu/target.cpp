#include "core/kernels/cpu/target.hpp"

#include "core/kernels/cpu/dispatch.hpp"
//
#include <hwy/targets.h>

#include <cstdlib>

#include "core/base/error.hpp"

namespace verlc::kernels {
namespace {

struct NamedTarget {
  const char* name;
  int64_t bit;
};

constexpr NamedTarget kTargets[] = {
    {"avx512", HWY_AVX3}, {"avx2", HWY_AVX2}, {"portable", HWY_STATIC_TARGET}};

bool runs_here(const NamedTarget& target) {
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
      return;
    }
  }
  fail_input({.what = "this CPU target is not available on this machine",
              .where = where,
              .value = name,
              .fix = "use one of " + join(cpu_targets())});
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
    if (candidate.GetIndex() == index) return target.name;
  }
  return "portable";
}

void set_cpu_target(const std::string& name) {
  use_cpu_target();
  choose(name, "cpu target");
}

}  // namespace verlc::kernels
