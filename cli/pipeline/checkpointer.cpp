#include "pipeline/checkpointer.hpp"

#include <map>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/hf/checkpoint_writer.hpp"
#include "core/models/model.hpp"
#include "verlc/plugin.hpp"

namespace verlc::pipeline {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t kExportBucket = uint64_t{256} << 20;

hf::FileType stored_type(const ModelConfig& config) {
  return config.dtype == "bfloat16" ? hf::FileType::bf16 : hf::FileType::f32;
}

}  // namespace

void export_weights(TrainEngine& engine, const fs::path& model_folder, const fs::path& folder, bool write) {
  const Model model(read_model_config(model_folder));
  const hf::FileType type = stored_type(model.config());
  std::unique_ptr<hf::CheckpointWriter> writer;
  if (write) {
    std::vector<hf::TensorSpec> specs;
    for (const Unit& unit : model.units())
      for (const Parameter& parameter : unit.parameters)
        specs.push_back({parameter.name, parameter.shape, type});
    hf::copy_model_files(model_folder, folder, type);
    writer = std::make_unique<hf::CheckpointWriter>(folder, std::move(specs));
  }
  engine.export_weights(kExportBucket, [&](std::span<const verlc_named_tensor* const> bucket) {
    if (!writer) return;
    for (const verlc_named_tensor* named : bucket)
      writer->write(plugin::to_view(named->name),
                    plugin::elements<const float>(named->tensor->tensor, plugin::to_view(named->name)));
  });
  if (writer) writer->commit();
}

Checkpointer::Checkpointer(const Recipe& recipe, Session& session)
    : recipe_(recipe), session_(session), folder_(recipe.run_folder()) {}

void Checkpointer::save(uint64_t step, TrainEngine& actor, const nlohmann::json& state) {
  session_.world().set_phase("save_checkpoint");
  const fs::path target = folder_.checkpoint(step), aside = target.string() + ".tmp";
  if (session_.is_root()) {
    fs::remove_all(aside);
    fs::create_directories(aside / "actor");
  }
  session_.world().barrier();
  actor.save(aside / "actor", VERLC_PART_PARAM | VERLC_PART_OPTIMIZER);
  session_.world().barrier();
  if (session_.is_root()) {
    const Model model(read_model_config(recipe_.model.path));
    hf::copy_model_files(recipe_.model.path, aside / "huggingface", stored_type(model.config()));
    write_file(aside / "trainer_state.json", state.dump(1) + "\n");
    write_manifest(aside);
    sync_folder(aside / "actor");
    sync_folder(aside);
    fs::remove_all(target);  // only ever an earlier save of the same step
    fs::rename(aside, target);
    sync_folder(folder_.checkpoints());
    write_file(folder_.tracker(), std::to_string(step) + "\n");
    prune(step);
  }
  session_.world().barrier();
}

void Checkpointer::prune(uint64_t newest) const {
  const int64_t keep = recipe_.actor.checkpoint.max_ckpt_to_keep;
  if (keep <= 0) return;
  std::map<uint64_t, fs::path> all;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_.checkpoints()))
    if (entry.is_directory() && entry.path().filename().string().starts_with("global_step_") &&
        entry.path().extension() != ".tmp")
      all[checkpoint_step(entry.path())] = entry.path();
  for (auto it = all.begin(); it != all.end() && static_cast<int64_t>(all.size()) > keep;) {
    if (it->first == newest) break;
    fs::remove_all(it->second);
    it = all.erase(it);
  }
}

std::string Checkpointer::resume_by_root() {
  const TrainerSection& trainer = recipe_.trainer;
  if (trainer.resume_mode == "disable") {
    const fs::path moved = folder_.set_aside();
    if (!moved.empty())
      session_.services().log().write(LogLevel::info, "train",
                                      "the earlier run was moved to " + moved.string());
    return {};
  }
  if (trainer.resume_mode == "resume_path") {
    const std::string problem = checkpoint_problem(trainer.resume_from_path);
    if (!problem.empty())
      fail_input({.what = "is not a whole checkpoint: " + problem,
                  .where = "trainer.resume_from_path",
                  .value = trainer.resume_from_path,
                  .fix = {}});
    return trainer.resume_from_path;
  }
  std::vector<std::string> skipped;
  const std::optional<fs::path> newest = newest_checkpoint(folder_.checkpoints(), &skipped);
  for (const std::string& reason : skipped)
    session_.services().log().write(LogLevel::warn, "train", "skipping checkpoint " + reason);
  return newest ? newest->string() : std::string();
}

std::optional<fs::path> Checkpointer::find_resume() {
  const std::string found =
      session_.world().broadcast_text(session_.is_root() ? resume_by_root() : std::string(), 0);
  if (found.empty()) return std::nullopt;
  return fs::path(found);
}

nlohmann::json Checkpointer::load(const fs::path& folder, TrainEngine& actor) {
  session_.world().set_phase("load_checkpoint");
  actor.load(folder / "actor", VERLC_PART_PARAM | VERLC_PART_OPTIMIZER);
  const nlohmann::json state =
      nlohmann::json::parse(read_file(folder / "trainer_state.json"), nullptr, false);
  if (!state.is_object())
    fail_input({.what = "is not a JSON object",
                .where = (folder / "trainer_state.json").string(),
                .value = {},
                .fix = {}});
  return state;
}

void Checkpointer::export_model(TrainEngine& actor, const fs::path& folder) {
  session_.world().set_phase("export");
  export_weights(actor, recipe_.model.path, folder, session_.is_root());
  session_.world().barrier();
}

}  // namespace verlc::pipeline
