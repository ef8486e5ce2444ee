#include "fsdp/checkpoint.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/error.hpp"
#include "core/hf/checkpoint.hpp"
#include "core/hf/safetensors_writer.hpp"

namespace verlc::fsdp {
namespace {

namespace fs = std::filesystem;

std::string file_name(const char* kind, int64_t world, int64_t rank) {
  return std::string(kind) + "_world_size_" + std::to_string(world) + "_rank_" + std::to_string(rank) +
         ".safetensors";
}

// The arrays of one kind: the weights, or both moments, as (suffix, tensor of a unit).
struct Array {
  const char* suffix;
  const Tensor& (ShardedUnits::*shard)(size_t) const;
};

const std::vector<Array>& arrays_of(const std::string& kind) {
  static const std::vector<Array> weights = {{"", &ShardedUnits::param}};
  static const std::vector<Array> moments = {{".m", &ShardedUnits::first_moment},
                                             {".v", &ShardedUnits::second_moment}};
  return kind == "model" ? weights : moments;
}

void save_kind(const fs::path& dir, const char* kind, const Model& model, ShardedUnits& units,
               hf::Metadata metadata) {
  std::vector<hf::TensorSpec> specs;
  for (size_t u = 0; u < units.size(); ++u) {
    const FlatUnit& flat = units.flat(u);
    const int64_t count = std::max<int64_t>(0, flat.end() - flat.begin());
    for (const Array& array : arrays_of(kind))
      specs.push_back({model.units()[u].name + array.suffix, {count}, hf::FileType::f32});
    metadata["begin." + model.units()[u].name] = std::to_string(flat.begin());
    metadata["size." + model.units()[u].name] = std::to_string(flat.size());
  }
  const int64_t world = units.shard_group().size(), rank = units.shard_group().rank();
  metadata["world_size"] = std::to_string(world);
  hf::SafetensorsWriter writer(dir / file_name(kind, world, rank), specs, metadata);
  for (size_t u = 0; u < units.size(); ++u) {
    const FlatUnit& flat = units.flat(u);
    const auto bytes = static_cast<uint64_t>(std::max<int64_t>(0, flat.end() - flat.begin())) * sizeof(float);
    for (const Array& array : arrays_of(kind))
      writer.write(model.units()[u].name + array.suffix, (units.*array.shard)(u).raw(), bytes);
  }
  writer.commit();
}

// The files of one save, which must be complete and of one number of ranks.
std::vector<hf::SafetensorsFile> open_save(const fs::path& dir, const std::string& kind) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kind + "_world_size_") && name.ends_with(".safetensors")) names.push_back(name);
  }
  if (names.empty())
    fail_input({.what = "has no " + kind + "_world_size_*_rank_*.safetensors",
                .where = dir.string(),
                .value = {},
                .fix = "name a folder that train has saved"});
  std::sort(names.begin(), names.end());
  std::vector<hf::SafetensorsFile> files;
  for (const std::string& name : names) files.emplace_back(dir / name);
  const auto world = files.front().metadata().find("world_size");
  if (world == files.front().metadata().end() || world->second != std::to_string(files.size()))
    fail_input({.what = "is incomplete: it was saved by " +
                        (world == files.front().metadata().end() ? "?" : world->second) + " ranks",
                .where = dir.string(),
                .value = std::to_string(files.size()) + " " + kind + " files",
                .fix = {}});
  return files;
}

int64_t metadata_int(const hf::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  try {
    if (found != file.metadata().end()) return std::stoll(found->second);
  } catch (const std::exception&) {
    // Told below, with the file's name.
  }
  fail_input({.what = "metadata lacks a number",
              .where = file.where() + ": " + key,
              .value = found == file.metadata().end() ? "absent" : found->second,
              .fix = {}});
}

// Copies what a stored piece and this rank's shard have in common. Returns the elements copied.
int64_t copy_overlap(const hf::SafetensorsFile& file, const std::string& unit, const std::string& suffix,
                     const FlatUnit& flat, const Tensor& shard) {
  const hf::TensorView* piece = file.find(unit + suffix);
  if (piece == nullptr || piece->type != hf::FileType::f32)
    fail_input({.what = "lacks the float32 array", .where = file.where(), .value = unit + suffix, .fix = {}});
  if (metadata_int(file, "size." + unit) != flat.size())
    fail_input({.what = "was saved from another model",
                .where = file.where() + ": " + unit,
                .value = file.metadata().at("size." + unit),
                .fix = "expected " + std::to_string(flat.size())});
  const int64_t stored = metadata_int(file, "begin." + unit);
  const int64_t begin = std::max(stored, flat.begin()), end = std::min(stored + piece->size(), flat.end());
  if (begin >= end) return 0;
  std::memcpy(shard.f32() + (begin - flat.begin()),
              piece->bytes.data() + static_cast<size_t>(begin - stored) * sizeof(float),
              static_cast<size_t>(end - begin) * sizeof(float));
  return end - begin;
}

void load_kind(const fs::path& dir, const std::string& kind, const Model& model, ShardedUnits& units,
               const std::vector<hf::SafetensorsFile>& files) {
  for (size_t u = 0; u < units.size(); ++u)
    for (const Array& array : arrays_of(kind)) {
      int64_t copied = 0;
      for (const hf::SafetensorsFile& file : files)
        copied +=
            copy_overlap(file, model.units()[u].name, array.suffix, units.flat(u), (units.*array.shard)(u));
      if (copied != std::max<int64_t>(0, units.flat(u).end() - units.flat(u).begin()))
        fail_input({.what = "does not hold all of a unit",
                    .where = dir.string(),
                    .value = model.units()[u].name,
                    .fix = {}});
    }
}

}  // namespace

void save_shards(const fs::path& dir, uint32_t parts, const Model& model, ShardedUnits& units,
                 const OptimizerState& optimizer) {
  if (units.replica_group().rank() != 0) return;
  if ((parts & VERLC_PART_PARAM) != 0) save_kind(dir, "model", model, units, {});
  if ((parts & VERLC_PART_OPTIMIZER) != 0)
    save_kind(dir, "optim", model, units, {{"step", std::to_string(optimizer.step)}});
}

void load_shards(const fs::path& dir, uint32_t parts, const Model& model, ShardedUnits& units,
                 OptimizerState& optimizer) {
  if ((parts & VERLC_PART_PARAM) != 0) {
    load_kind(dir, "model", model, units, open_save(dir, "model"));
    units.weights_changed();
  }
  if ((parts & VERLC_PART_OPTIMIZER) != 0) {
    const std::vector<hf::SafetensorsFile> files = open_save(dir, "optim");
    load_kind(dir, "optim", model, units, files);
    optimizer.step = metadata_int(files.front(), "step");
  }
}

void load_initial_weights(const Config& config, const Model& model, ShardedUnits& units,
                          EngineServices& services) {
  if (config.init == "none") return;
  std::optional<hf::HfCheckpoint> checkpoint;
  if (config.init == "checkpoint") {
    checkpoint = hf::HfCheckpoint::open(config.model);
    std::vector<hf::ExpectedTensor> expected;
    for (const Unit& unit : model.units())
      for (const Parameter& parameter : unit.parameters)
        expected.push_back({parameter.name, parameter.shape});
    (void)checkpoint->match(expected, {.tied = model.config().tied_head});
  }
  std::vector<float> values;
  for (size_t u = 0; u < units.size(); ++u) {
    const FlatUnit& flat = units.flat(u);
    size_t i = 0;
    for (const Parameter& parameter : model.units()[u].parameters) {
      const int64_t offset = flat.offset(i++), count = num_elements(parameter.shape);
      const int64_t begin = std::max(offset, flat.begin()), end = std::min(offset + count, flat.end());
      if (begin >= end) continue;
      values.resize(static_cast<size_t>(count));
      if (checkpoint)
        checkpoint->read_f32(parameter.name, parameter.shape, values.data(), &services.threads());
      else
        initialize(parameter, model.config(), config.seed, values.data());
      std::memcpy(units.param(u).f32() + (begin - flat.begin()), values.data() + (begin - offset),
                  static_cast<size_t>(end - begin) * sizeof(float));
    }
  }
  units.weights_changed();
}

}  // namespace verlc::fsdp
