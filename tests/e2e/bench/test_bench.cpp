// Every benchmark at its tiny size: that it runs and that its values are sane, so that none rots. How fast
// anything is is nobody's business here.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/file.hpp"
#include "support/run_verlc.hpp"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

using verlc::test::Outcome;

// A file of this test that is removed at the end.
class File {
 public:
  File() : path_(fs::temp_directory_path() / ("verlc_bench_test_" + std::to_string(::getpid()) + ".json")) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  [[nodiscard]] std::string name() const { return path_.string(); }
  [[nodiscard]] Json read() const { return Json::parse(verlc::read_file(path_)); }

 private:
  fs::path path_;
};

bool positive(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>()) && value.get<double>() > 0;
}

void check_report(const Json& report, const std::string& bench) {
  INFO(report.dump(1));
  CHECK(report["bench"] == bench);
  CHECK(report["tiny"] == true);
  CHECK(positive(report["threads"]));
  REQUIRE(!report["rows"].empty());
  std::set<std::string> names;
  for (const Json& row : report["rows"]) {
    INFO(row["name"]);
    CHECK(names.insert(row["name"]).second);
    for (const char* key : {"best", "median", "seconds_best", "seconds_median", "rounds"})
      CHECK(positive(row[key]));
    CHECK(row["seconds_best"] <= row["seconds_median"]);
    for (const char* key : {"floor_seconds", "percent_best", "percent_median"})
      CHECK((row[key].is_number() && std::isfinite(row[key].get<double>()) && row[key] >= 0));
    if (row["floor_seconds"] == 0.0) continue;
    CHECK(positive(row["percent_median"]));
    const Json& limits = row["limits_before"];
    CHECK((positive(limits["flops_per_s"]) || positive(limits["bytes_per_s"])));
  }
  for (const auto& [name, value] : report["values"].items()) {
    INFO(name);
    CHECK(positive(value["value"]));
  }
}

std::set<std::string> row_names(const Json& report) {
  std::set<std::string> names;
  for (const Json& row : report["rows"]) names.insert(row["name"]);
  return names;
}

}  // namespace

TEST_CASE("every benchmark that the help names runs and gives finite values") {
  const std::string help = verlc::test::run_verlc("bench --help").output;
  size_t found = 0;
  for (const char* bench : {"attention", "decode", "gemm", "kernels", "step", "train"}) {
    INFO(bench);
    CHECK(help.find(std::string("\n  ") + bench + " ") != std::string::npos);
    const File file;
    const Outcome outcome =
        verlc::test::run_verlc(std::string("bench ") + bench + " --tiny --threads 1 --json " + file.name());
    INFO(outcome.output);
    REQUIRE(outcome.code == 0);
    check_report(file.read(), bench);
    ++found;
  }
  const std::string list = help.substr(help.find("Subcommands:"));
  size_t named = 0;
  for (size_t at = 0; (at = list.find("\n  ", at + 1)) != std::string::npos;)
    named += std::isalpha(static_cast<unsigned char>(list[at + 3])) != 0 ? 1 : 0;
  CHECK(named == found);
}

TEST_CASE("--json - leaves standard output to the values") {
  const Outcome outcome =
      verlc::test::run_verlc("bench attention --tiny --threads 2 --json -", "2>/dev/null");
  CHECK(outcome.code == 0);
  check_report(Json::parse(outcome.output), "attention");
}

TEST_CASE("bfloat16 weights and lower instruction sets are measured too") {
  const File file;
  for (const auto& [bench, dtype] : {std::pair<std::string, std::string>{"gemm", "bfloat16_weights"},
                                     {"gemm", "bfloat16"},
                                     {"decode", "bfloat16"},
                                     {"train", "bfloat16"},
                                     {"step", "bfloat16"}}) {
    const Outcome outcome =
        verlc::test::run_verlc("bench " + bench + " --tiny --dtype " + dtype + " --json " + file.name());
    INFO(outcome.output);
    REQUIRE(outcome.code == 0);
    check_report(file.read(), bench);
    CHECK(file.read()["dtype"] == dtype);
  }
  const Outcome portable = verlc::test::run_verlc("bench gemm --tiny --threads 1 --json " + file.name(),
                                                  "2>&1", "VERLC_CPU_TARGET=portable");
  INFO(portable.output);
  REQUIRE(portable.code == 0);
  check_report(file.read(), "gemm");
  CHECK(file.read()["target"] == "portable");
}

TEST_CASE("a step has all phases with the exact savings off, fewer with them on, on one rank or two") {
  const File file;
  for (const std::string ranks : {"1", "2"}) {
    const std::string common =
        "bench step --tiny --threads 1 --steps 1 --ranks " + ranks + " --json " + file.name();
    const Outcome plain = verlc::test::run_verlc(common + " --no-sharing");
    INFO(plain.output);
    REQUIRE(plain.code == 0);
    check_report(file.read(), "step");
    CHECK(row_names(file.read()) ==
          std::set<std::string>{"gen (step 1)", "reward (step 1)", "old_log_prob (step 1)", "ref (step 1)",
                                "adv (step 1)", "update_actor (step 1)", "update_weights (step 1)"});
    CHECK(file.read()["values"].contains("peak resident"));
    const Outcome shared = verlc::test::run_verlc(common + " --no-reference");
    INFO(shared.output);
    REQUIRE(shared.code == 0);
    const std::set<std::string> names = row_names(file.read());
    CHECK(!names.contains("old_log_prob (step 1)"));
    CHECK(!names.contains("ref (step 1)"));
    CHECK(names.contains("update_actor (step 1)"));
    CHECK(!fs::exists("runs"));
  }
}

TEST_CASE("a benchmark refuses what it can't measure") {
  CHECK(verlc::test::run_verlc("bench").code == 2);
  CHECK(verlc::test::run_verlc("bench gemm --dtype float16").code == 2);
  CHECK(verlc::test::run_verlc("bench decode --tiny --model /nowhere").code == 2);
  const Outcome outcome = verlc::test::run_verlc("bench step --tiny --set actor.no_such_key=1");
  CHECK(outcome.code == 2);
  CHECK(outcome.output.find("no_such_key") != std::string::npos);
}
