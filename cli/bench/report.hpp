// What a benchmark found: lines of a table as they come, and the same values as JSON.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/timer.hpp"

namespace verlc::bench {

/// A timed body that gets `amount` of `unit` done each time ("GF" or "tok": the rate is per second).
struct Row {
  std::string name;
  std::string unit;
  double amount = 0;
  Timing timing;
};

/// One thread.
class Report {
 public:
  /// Lines go to `table`, which stays open; `title` is the first of them, when there is a second.
  Report(std::FILE* table, std::string title, nlohmann::json head);

  /// Prints rate, limits before and after, and the share of the floor: best and median.
  void row(const Row& row);
  /// A number beside the rows, such as a mean over them.
  void value(const std::string& name, double value, const std::string& unit);
  /// Words between rows.
  void heading(const std::string& text);

  /// Nothing has been reported.
  [[nodiscard]] bool empty() const { return json_["rows"].empty() && json_["values"].empty(); }
  /// {..., "rows": [...], "values": {...}}; numbers in base units.
  [[nodiscard]] const nlohmann::json& json() const { return json_; }

 private:
  /// Before a line of the table.
  void begin();

  std::FILE* table_;
  std::string title_;
  bool named_ = false;  // the columns have their names
  nlohmann::json json_;
};

}  // namespace verlc::bench
