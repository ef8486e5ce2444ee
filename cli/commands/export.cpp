// verlc export: a training checkpoint to a Hugging Face folder.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "pipeline/checkpointer.hpp"
#include "pipeline/engines.hpp"

namespace verlc {
namespace {

struct ExportOptions {
  std::string checkpoint, folder;
};

int export_checkpoint(const ExportOptions& options) {
  namespace fs = std::filesystem;
  const fs::path checkpoint = options.checkpoint;
  const std::string problem = pipeline::checkpoint_problem(checkpoint);
  if (!problem.empty())
    fail_input({.what = "is not a whole checkpoint: " + problem,
                .where = options.checkpoint,
                .value = {},
                .fix = "name a folder <run>/checkpoints/global_step_N"});
  if (fs::exists(options.folder) && !fs::is_empty(options.folder))
    fail_input({.what = "is not empty", .where = options.folder, .value = {}, .fix = "name a new folder"});
  const nlohmann::json state =
      nlohmann::json::parse(read_file(checkpoint / "trainer_state.json"), nullptr, false);
  const std::string engine_name = state.is_object() ? state.value("engine", std::string("fsdp")) : "fsdp";
  const fs::path model = checkpoint / "huggingface";
  pipeline::Session session({});
  const auto engine =
      pipeline::make_train_engine(session, engine_name, pipeline::frozen_config(model.string(), "none"));
  engine->load(checkpoint / "actor", VERLC_PART_PARAM);
  pipeline::export_weights(*engine, model, options.folder, true);
  fmt::print("{}: written\n", options.folder);
  return exit_done;
}

}  // namespace

void command_export(CommandRegistry& registry) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App& app = registry.add("export", "write a checkpoint's weights as a Hugging Face folder",
                               [options] { return export_checkpoint(*options); });
  app.add_option("CHECKPOINT", options->checkpoint, "<run>/checkpoints/global_step_N")->required();
  app.add_option("DIR", options->folder, "new folder")->required();
}

}  // namespace verlc
