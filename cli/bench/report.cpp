#include "bench/report.hpp"

#include <fmt/core.h>

namespace verlc::bench {
namespace {

std::string limit_text(double first, double last, double scale, const char* unit) {
  return first > 0 ? fmt::format("{:.0f} {:.0f} {}", first * scale, last * scale, unit) : "";
}

nlohmann::json limits_json(const Limits& limits) {
  return {{"flops_per_s", limits.flops}, {"bytes_per_s", limits.bytes}};
}

}  // namespace

Report::Report(std::FILE* table, std::string title, nlohmann::json head)
    : table_(table), title_(std::move(title)), json_(std::move(head)) {
  json_["rows"] = nlohmann::json::array();
  json_["values"] = nlohmann::json::object();
}

void Report::begin() {
  if (!title_.empty()) fmt::print(table_, "{}\n", title_);
  title_.clear();
}

void Report::heading(const std::string& text) {
  begin();
  fmt::print(table_, "-- {}\n", text);
  std::fflush(table_);
}

void Report::row(const Row& row) {
  begin();
  const Timing& timing = row.timing;
  const double best = row.amount / timing.best, middle = row.amount / timing.median;
  if (!named_)
    fmt::print(table_, "{:<40} {:>9} {:>9} {:<5} {:>9} {:>9} {:>7} {:>7} {:>8}  {}\n", "what", "best",
               "median", "", "median s", "floor s", "best %", "med. %", "x floor", "limits before, after");
  named_ = true;
  fmt::print(table_, "{:<40} {:>9.1f} {:>9.1f} {:<5} {:>9.4g} ", row.name, best, middle, row.unit + "/s",
             timing.median);
  if (timing.floor > 0)
    fmt::print(table_, "{:>9.4g} {:>7.1f} {:>7.1f} {:>8.2f}  {} {}", timing.floor, 100 * timing.best_share,
               100 * timing.median_share, 1 / timing.median_share,
               limit_text(timing.first.flops, timing.last.flops, 1e-9, "GF/s"),
               limit_text(timing.first.bytes, timing.last.bytes, 1e-9, "GB/s"));
  fmt::print(table_, "\n");
  std::fflush(table_);
  json_["rows"].push_back({{"name", row.name},
                           {"unit", row.unit + "/s"},
                           {"best", best},
                           {"median", middle},
                           {"seconds_best", timing.best},
                           {"seconds_median", timing.median},
                           {"floor_seconds", timing.floor},
                           {"percent_best", 100 * timing.best_share},
                           {"percent_median", 100 * timing.median_share},
                           {"rounds", timing.rounds},
                           {"limits_before", limits_json(timing.first)},
                           {"limits_after", limits_json(timing.last)}});
}

void Report::value(const std::string& name, double value, const std::string& unit) {
  begin();
  fmt::print(table_, "{:<40} {:>9.4g} {}\n", name, value, unit);
  std::fflush(table_);
  json_["values"][name] = {{"value", value}, {"unit", unit}};
}

}  // namespace verlc::bench
