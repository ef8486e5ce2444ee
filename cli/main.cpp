// The program: declares the commands, runs the chosen one, and is the one place that catches.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <new>

#include "commands/command.hpp"
#include "commands/support/arguments.hpp"
#include "commands/support/print_error.hpp"

namespace verlc {
namespace {

int run(int argc, char** argv) {
  CLI::App app("Reinforcement-learning post-training of language models", "verlc");
  app.set_version_flag("--version", "verlc " VERLC_VERSION);
  app.require_subcommand(1);
  CommandRegistry registry(app);
  command_all(registry);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::ParseError& error) {
    print_error(explain_arguments(app, {argv + 1, argv + argc}, error.what()));
    return exit_input;
  }
  return registry.run_chosen();
}

}  // namespace
}  // namespace verlc

int main(int argc, char** argv) {
  try {
    return verlc::run(argc, argv);
  } catch (const verlc::Error& error) {
    verlc::print_error(error.text());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    verlc::print_error(
        {.what = "out of memory", .where = "verlc", .value = "", .fix = "free memory on this host"});
    return verlc::exit_no_fit;
  } catch (const std::exception& error) {
    verlc::print_error({.what = error.what(), .where = "verlc", .value = "", .fix = ""});
    return verlc::exit_failed;
  }
}
