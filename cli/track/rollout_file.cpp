#include "track/rollout_file.hpp"

#include <system_error>

#include "core/base/error.hpp"
#include "core/base/file.hpp"

namespace verlc {
namespace {

std::string dumped(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::filesystem::path write_rollouts(const std::filesystem::path& folder, uint64_t step, size_t rank,
                                     size_t num_ranks, std::span<const RolloutRecord> records) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    fail_run({.what = "cannot create the folder: " + failure.message(),
              .where = folder.string(),
              .value = {},
              .fix = {}});
  std::string name = std::to_string(step);
  if (num_ranks > 1) name.append(".rank").append(std::to_string(rank));
  const std::filesystem::path path = folder / (name + ".jsonl");
  std::string text;
  for (const RolloutRecord& record : records) {
    text.append("{\"input\":").append(dumped(record.input));
    text.append(",\"output\":").append(dumped(record.output));
    text.append(",\"gts\":").append(record.ground_truth_text);
    text.append(",\"score\":").append(record.score ? dumped(*record.score) : "null");
    text.append(",\"step\":").append(std::to_string(step));
    for (const auto& [key, value] : record.extras.items()) {
      if (key == "input" || key == "output" || key == "gts" || key == "score" || key == "step") continue;
      text.append(",").append(dumped(key)).append(":").append(dumped(value));
    }
    text.append("}\n");
  }
  write_file(path, text);
  return path;
}

}  // namespace verlc
