#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "core/base/error.hpp"
#include "host/plugin_check/check_plugin.hpp"

namespace verlc {
namespace {

const std::filesystem::path kLibrary = std::filesystem::path(VERLC_BINARY_DIR) / "lib";

CaseResult result_of(const std::vector<CheckCase>& cases, const std::string& id) {
  for (const CheckCase& entry : cases)
    if (entry.id == id) return entry.result;
  FAIL("no case " << id);
  return {};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the check passes the example and the C++ engine") {
  for (const char* file : {"verlc/plugins/reward_length.so", "verlc-test/fake_engine.so"}) {
    for (const CheckCase& entry : check_plugin(kLibrary / file)) {
      INFO(file << " " << entry.id << " " << entry.result.text);
      CHECK(entry.result.verdict != Verdict::fail);
    }
  }
}

TEST_CASE("a plugin that crashes fails its cases and not the check") {
  const auto cases = check_plugin(kLibrary / "verlc-test/made_up_5.so");
  CHECK(result_of(cases, "L01").verdict == Verdict::fail);
  CHECK(contains(result_of(cases, "L01").text, "died of signal 11"));
  CHECK(result_of(cases, "H04").verdict == Verdict::pass);  // refused before the crash
}

TEST_CASE("the code of a file that is not usable is never run") {
  const auto cases = check_plugin(kLibrary / "verlc-test/made_up_0.so");
  CHECK(result_of(cases, "S03").verdict == Verdict::fail);
  CHECK(result_of(cases, "L01").verdict == Verdict::skip);
  CHECK(result_of(cases, "R01").verdict == Verdict::skip);
  CHECK_THROWS_AS(check_plugin("/absent.so"), Error);
}

TEST_CASE("a case that ends the process is told") {
  CHECK(contains(run_isolated([]() -> CaseResult { ::_exit(0); }).text, "ended the process"));
  CHECK(run_isolated([] { return CaseResult{Verdict::warn, "text"}; }).verdict == Verdict::warn);
}

}  // namespace
}  // namespace verlc
