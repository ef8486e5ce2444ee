#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "track/metrics_file.hpp"
#include "track/rollout_file.hpp"

using namespace verlc;

namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "verlc_track_XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};

std::vector<uint64_t> steps_in(const std::filesystem::path& path) {
  std::vector<uint64_t> steps;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) steps.push_back(nlohmann::json::parse(line)["step"]);
  return steps;
}

}  // namespace

TEST_CASE("metrics.jsonl is appended to over restarts and keeps verl's names") {
  const Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  { MetricsFile(path).write(0, {{"val-core/s/acc/mean@1", 0.5}}); }
  {
    MetricsFile file(path);
    file.write(1, {{"critic/score/mean", 0.1}, {"actor/grad_norm", NAN}});
    file.write(2, {});
  }
  REQUIRE(read_file(path) ==
          "{\"step\":0,\"val-core/s/acc/mean@1\":0.5}\n"
          "{\"step\":1,\"actor/grad_norm\":null,\"critic/score/mean\":0.1}\n"
          "{\"step\":2}\n");
}

TEST_CASE("a resume drops later steps only, and keeps the others byte for byte") {
  const Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  const std::string head = "{\"step\":1, \"a\": 1.50}\n\n{\"note\":\"kept\"}\n{\"step\":2}\n";
  write_file(path, head + "{\"step\":3}\n{\"step\":4}\n");
  MetricsFile file(path);
  REQUIRE(file.drop_after(2) == 2);
  REQUIRE(read_file(path) == head);
  REQUIRE(file.drop_after(2) == 0);
  file.write(3, {});
  file.sync();
  REQUIRE(read_file(path) == head + "{\"step\":3}\n");
}

TEST_CASE("a torn last line is removed, whole lines stay") {
  const Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  write_file(path, "{\"step\":1}\n{\"step\":2,\"critic/sco");
  MetricsFile file(path);
  file.write(2, {});
  REQUIRE(steps_in(path) == std::vector<uint64_t>{1, 2});
  write_file(path, "{\"ste");
  MetricsFile again(path);
  REQUIRE(read_file(path).empty());
}

TEST_CASE("kill -9 while writing leaves whole steps, and the resumed file has each step once") {
  const Folder folder;
  const auto path = folder.path / "metrics.jsonl";
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    MetricsFile file(path);
    for (uint64_t step = 1;; ++step) file.write(step, {{"a", 0.25}, {"b", static_cast<double>(step)}});
  }
  while (!std::filesystem::exists(path) || std::filesystem::file_size(path) < 5000) ::usleep(100);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  MetricsFile file(path);
  constexpr uint64_t kCheckpoint = 40;
  REQUIRE(file.drop_after(kCheckpoint) > 0);
  for (uint64_t step = kCheckpoint + 1; step <= 50; ++step) file.write(step, {});
  const std::vector<uint64_t> steps = steps_in(path);
  REQUIRE(steps.size() == 50);
  for (uint64_t i = 0; i < 50; ++i) REQUIRE(steps[i] == i + 1);
}

TEST_CASE("the recorded series of a metric skips lines without it") {
  const Folder folder;
  MetricsFile file(folder.path / "metrics.jsonl");
  file.write(1, {{"a", 0.5}, {"b", 1.0}});
  file.write(2, {{"b", 2.0}});
  file.write(3, {{"a", NAN}});
  file.write(4, {{"a", -1.0}});
  REQUIRE(file.series("a") == std::vector<double>{0.5, -1.0});
  REQUIRE(file.series("c").empty());
}

TEST_CASE("a file that cannot be opened is named") {
  REQUIRE_THROWS_WITH(MetricsFile("/nonexistent/folder/metrics.jsonl"),
                      Catch::Contains("/nonexistent/folder"));
}

TEST_CASE("rollout dumps hold labels verbatim, errors as null, and only UTF-8") {
  const Folder folder;
  std::vector<RolloutRecord> records(2);
  records[0] = {.input = "1+1=", .output = "2\xff", .ground_truth_text = "{\"z\": 1.10}", .score = 1.0};
  records[0].extras = {{"acc", 1.0}, {"step", 99}, {"pred", "2\xff"}};
  records[1].extras = {{"error", "timeout"}};
  const auto path = write_rollouts(folder.path / "rollouts", 7, 0, 1, records);
  REQUIRE(path == folder.path / "rollouts" / "7.jsonl");
  std::ifstream file(path);
  std::string first, second;
  std::getline(file, first);
  std::getline(file, second);
  REQUIRE_THAT(first, Catch::Contains("\"gts\":{\"z\": 1.10}"));
  const auto object = nlohmann::json::parse(first);
  REQUIRE(object["input"] == "1+1=");
  REQUIRE(object["output"] == std::string("2\xEF\xBF\xBD"));
  REQUIRE(object["score"] == 1.0);
  REQUIRE(object["step"] == 7);
  REQUIRE(object["acc"] == 1.0);
  REQUIRE(nlohmann::json::parse(second)["score"].is_null());
  REQUIRE(nlohmann::json::parse(second)["error"] == "timeout");
  REQUIRE(write_rollouts(folder.path, 7, 3, 4, records).filename() == "7.rank3.jsonl");
}
