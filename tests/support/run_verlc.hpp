// Runs the program that the tests were built with, as a user does.
#pragma once

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

namespace verlc::test {

struct Outcome {
  int code = -1;
  std::string output;  ///< stdout, and stderr unless redirected elsewhere
};

/// `redirection`: where standard error goes; `environment`: NAME=VALUE words before the command.
inline Outcome run_verlc(const std::string& arguments, const std::string& redirection = "2>&1",
                         const std::string& environment = "") {
  const std::string command =
      environment + " " + VERLC_BINARY_DIR + "/bin/verlc " + arguments + " </dev/null " + redirection;
  Outcome outcome;
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.output.append(buffer, got);
  const int status = ::pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace verlc::test
