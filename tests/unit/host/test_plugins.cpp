// Loader, catalog and the engine wrappers, with made-up plugins that the build makes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/error.hpp"
#include "core/base/executor.hpp"
#include "core/base/file.hpp"
#include "core/base/rng.hpp"
#include "host/comm/transports.hpp"
#include "host/host_services.hpp"
#include "host/plugin.hpp"
#include "host/plugin_catalog.hpp"
#include "host/reward_plugin.hpp"
#include "host/rollout_engine.hpp"
#include "host/train_engine.hpp"

namespace verlc {
namespace {

const std::filesystem::path kMadeUp = std::filesystem::path(VERLC_BINARY_DIR) / "lib" / "verlc-test";
const std::filesystem::path kReward =
    std::filesystem::path(VERLC_BINARY_DIR) / "lib/verlc/plugins/reward_length.so";

struct Host {
  CachingAllocator allocator;
  InlineExecutor executor;
  LogService log{LogLevel::error};
  HostServices services{allocator, executor, log};
  ProcessGroup world{make_local_transport()};
  verlc_topology topology = plugin::make_struct<verlc_topology>();
  Host() {
    topology.world = topology.dp = services.comm().handle(world);
    topology.device_type = VERLC_DEVICE_CPU;
  }
  std::shared_ptr<Plugin> load(const std::filesystem::path& path) {
    return Plugin::load(inspect_plugin(path, PluginOrigin::explicit_path), services.table());
  }
};

// A private folder that goes away.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::path(VERLC_BINARY_DIR) / "catalog-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path copy(const std::filesystem::path& from, const std::string& name) const {
    std::filesystem::copy_file(from, path / name);
    return path / name;
  }
};

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("files that are no plugins of this host are refused with the reason") {
  const auto problem = [](int which) {
    return inspect_plugin(kMadeUp / ("made_up_" + std::to_string(which) + ".so"), PluginOrigin::user).problem;
  };
  CHECK(contains(problem(0), "it has no verlc note"));
  CHECK(problem(1) == "it is too new: it needs plugin ABI 1.7 or later, this verlc has 1.0");
  const Folder folder;
  std::ofstream(folder.path / "text.so") << "not a library";
  CHECK(inspect_plugin(folder.path / "text.so", PluginOrigin::user).problem == "it is not an ELF file");
  CHECK(contains(inspect_plugin(folder.path / "absent.so", PluginOrigin::user).problem, "No such file"));
  CHECK(contains(inspect_plugin("relative.so", PluginOrigin::user).problem, "is not an absolute path"));
}

TEST_CASE("a note that the plugin's own table contradicts is found at load") {
  Host host;
  CHECK(contains(error_of([&] { host.load(kMadeUp / "made_up_2.so"); }),
                 "its note says id 'other-id', its table 'made-up'"));
  CHECK(contains(error_of([&] { host.load(kMadeUp / "made_up_3.so"); }),
                 "its note names the capability verlc.reward/1, its table has none"));
  CHECK(
      contains(error_of([&] { host.load(kMadeUp / "made_up_4.so"); }), "open failed: the moon is not full"));
}

TEST_CASE("files and folders that others can write to are not trusted") {
  const Folder folder;
  const std::filesystem::path file = folder.copy(kReward, "reward.so");
  CHECK(inspect_plugin(file, PluginOrigin::user).usable());
  ::chmod(file.c_str(), 0666);
  CHECK(contains(inspect_plugin(file, PluginOrigin::user).problem,
                 "others can write to it (mode 0666); run: chmod go-w"));
  ::chmod(file.c_str(), 04755);
  CHECK(contains(inspect_plugin(file, PluginOrigin::user).problem, "setuid or setgid bit"));
  ::chmod(file.c_str(), 0644);
  ::chmod(folder.path.c_str(), 0777);
  CHECK(contains(inspect_plugin(file, PluginOrigin::user).problem, "untrusted folder"));
  ::chmod(folder.path.c_str(), 01777);  // sticky is not enough for the plugin's own folder
  CHECK(contains(inspect_plugin(file, PluginOrigin::user).problem, "untrusted folder"));
  ::chmod(folder.path.c_str(), 0700);
  CHECK(inspect_plugin(file, PluginOrigin::user).usable());
  if (::geteuid() == 0) {
    REQUIRE(::chown(file.c_str(), 12345, 12345) == 0);
    CHECK(contains(inspect_plugin(file, PluginOrigin::user).problem,
                   "owned by user 12345, must be owned by root"));
  }
}

TEST_CASE("of two files with one id the later kind of folder wins, and equals are an error that names both") {
  const Folder system;
  const Folder user;
  const auto first = system.copy(kReward, "a.so");
  const auto second = user.copy(kReward, "a.so");
  const PluginCatalog both({{system.path, PluginOrigin::system}, {user.path, PluginOrigin::user}});
  CHECK(both.find("reward-length", VERLC_CAPABILITY_REWARD).path == second);
  REQUIRE(both.duplicates().size() == 1);
  CHECK(contains(both.duplicates()[0], second.string() + " hides " + first.string()));
  const auto third = user.copy(kReward, "b.so");
  const PluginCatalog equal({{user.path, PluginOrigin::user}});
  const std::string text =
      error_of([&] { static_cast<void>(equal.find("reward-length", VERLC_CAPABILITY_REWARD)); });
  CHECK(
      contains(text, "two plugins have the id reward-length: " + second.string() + " and " + third.string()));
  CHECK(both.find(first.string(), VERLC_CAPABILITY_REWARD).path == first);
}

TEST_CASE("an unknown id is told with what there is and what was refused") {
  const PluginCatalog catalog(
      {{kMadeUp, PluginOrigin::system}, {kReward.parent_path(), PluginOrigin::system}});
  const std::string unknown =
      error_of([&] { static_cast<void>(catalog.find("reward-lenght", VERLC_CAPABILITY_REWARD)); });
  CHECK(contains(unknown, "no plugin 'reward-lenght' that offers verlc.reward/1"));
  CHECK(contains(unknown, "reward-length"));
  const std::string refused =
      error_of([&] { static_cast<void>(catalog.find("too-new", VERLC_CAPABILITY_REWARD)); });
  CHECK(contains(refused, "made_up_1.so was refused: it is too new"));
  const std::string other =
      error_of([&] { static_cast<void>(catalog.find(kReward.string(), VERLC_CAPABILITY_TRAIN)); });
  CHECK(contains(other, "plugin reward-length does not offer verlc.train/1"));
}

TEST_CASE("cut and corrupted plugin files never crash the reader") {
  const Folder folder;
  const std::string whole = read_file(kReward);
  RandomStream stream(5, Purpose::test);
  const std::filesystem::path path = folder.path / "x.so";
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    if (i % 2 == 0) bytes.resize(stream.below(bytes.size()));
    for (uint64_t k = 1 + stream.below(20); k > 0 && !bytes.empty(); --k)
      bytes[stream.below(std::min<uint64_t>(bytes.size(), i % 3 == 0 ? 1024 : bytes.size()))] =
          static_cast<char>(stream.next_u32());
    std::ofstream(path, std::ios::binary) << bytes;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0);
    CHECK_NOTHROW(read_elf_facts(fd));
    ::close(fd);
  }
}

TEST_CASE("the C reward gives 1 for the right ending and says what is wrong with a configuration") {
  Host host;
  const std::shared_ptr<Plugin> plugin = host.load(kReward);
  RewardPlugin reward(plugin, "{\"target_length\": 10, \"length_weight\": 0.5}");
  const std::vector<RewardSample> samples = {{.uid = 1, .response = "12345 is42", .reference = "\"42\""},
                                             {.uid = 2, .response = "so 42. \n", .reference = "42"},
                                             {.uid = 3, .response = "142", .reference = "\"42\""},
                                             {.uid = 4, .response = "-42", .reference = "42"},
                                             {.uid = 5, .response = "anything", .reference = ""}};
  std::vector<RewardScore> scores;
  CHECK(reward.score(samples, scores) == Outcome::done);
  CHECK(scores[0].reward == 0.5);  // "is42" is another word; ten bytes are the target
  CHECK(scores[1].reward == 1.4);
  CHECK(scores[2].reward == Approx(0.15));
  CHECK(scores[3].reward == Approx(0.15));
  CHECK_FALSE(scores[4].ok);
  CHECK(scores[4].message == "the reference answer is empty");
  const std::string text = error_of([&] { RewardPlugin(plugin, "{\"target_lenght\": 3}"); });
  CHECK(contains(text, "plugin reward-length, create: unknown key (value: target_lenght)"));
}

TEST_CASE("a training engine's calls, loss, errors and exports come through") {
  Host host;
  const std::shared_ptr<Plugin> plugin = host.load(kMadeUp / "fake_engine.so");
  CHECK(plugin->version() == "0.1");
  CHECK(contains(plugin->describe(VERLC_CAPABILITY_TRAIN), "deterministic"));
  CHECK(TrainEngine::estimate(*plugin, "{}", "{}") == "{\"phases\": {}}");
  CHECK(contains(error_of([&] { TrainEngine(plugin, "bad", host.topology); }),
                 "plugin fake-engine, create: model.path: no such folder"));
  TrainEngine engine(plugin, "{}", host.topology);
  CHECK(host.allocator.by_category()[0].now == 16);
  const std::vector<int32_t> tokens = {3, 4, 5};
  const std::vector<int32_t> starts = {0, 3};
  const std::vector<uint8_t> mask = {0, 1, 1};
  const std::vector<int32_t> shared = {0, 2};  // not sent to an engine that does not take it
  const PackedBatch batch{.tokens = tokens,
                          .positions = tokens,
                          .cu_seqlens = starts,
                          .loss_mask = mask,
                          .temperature = {},
                          .shared_prefix = shared};
  std::vector<float> logp(3);
  CHECK(engine.forward_logp(batch, logp) == Outcome::done);
  CHECK(logp == std::vector<float>{-3, -4, -5});
  double loss = 0;
  engine.forward_backward(
      batch, true,
      [](verlc_micro_batch& part) {
        CHECK(part.d_entropy != nullptr);
        for (uint64_t i = 0; i < part.token_count; ++i) part.d_logp[i] = 2;
        part.loss = 1.5;
      },
      &loss);
  CHECK(loss == 1.5);
  CHECK(host.services.metrics().drain().at(0).value() == 6);
  CHECK(error_of([&] {
          engine.forward_backward(batch, false, [](verlc_micro_batch&) {
            fail_run({.what = "my own fault", .where = {}, .value = {}, .fix = {}});
          });
        }) == "my own fault");
  CHECK(engine.optimizer_step(0.5, 1).grad_norm == 1.0);
  std::string names;
  engine.export_weights(1 << 20, [&](std::span<const verlc_named_tensor* const> bucket) {
    for (const verlc_named_tensor* weight : bucket) {
      names += plugin::to_view(weight->name);
      CHECK(plugin::elements<const float>(weight->tensor->tensor, "weight")[3] == 3.0f);
    }
  });
  CHECK(names == "a.weightb.weight");
  CHECK(error_of([&] { engine.save("/x", VERLC_PART_PARAM); }) ==
        "plugin fake-engine, save: cannot write /x");
  CHECK(engine.memory_stats().at(0).bytes_now == 16);
}

TEST_CASE("a rollout engine's requests, completions and updates come through") {
  Host host;
  RolloutEngine engine(host.load(kMadeUp / "fake_engine.so"), "{}", host.topology);
  SamplingParameters sampling;
  sampling.stop_strings = {"END"};
  std::vector<RolloutRequest> requests(3);
  for (size_t i = 0; i < 3; ++i) requests[i] = {.id = 10 + i, .prompt = {}, .sampling = &sampling};
  CHECK(engine.submit(requests) == 2);
  std::vector<Completion> done;
  CHECK(engine.poll(done) == Outcome::done);
  REQUIRE(done.size() == 2);
  CHECK(done[1].id == 11);
  CHECK(done[1].tokens == std::vector<int32_t>{7, 8, 9});
  CHECK(done[1].finish == Finish::stop);
  CHECK(engine.poll(done) == Outcome::end);
  {
    WeightUpdate update(engine, 5);
    update.part({});
  }
  CHECK(engine.digest() == "version 0");
  WeightUpdate update(engine, 6);
  update.commit();
  CHECK(engine.digest() == "version 6");
}

}  // namespace
}  // namespace verlc
