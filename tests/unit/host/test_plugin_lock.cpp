#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/base/hash.hpp"
#include "host/plugin_lock.hpp"

using namespace verlc;

namespace {

// A private folder that goes away.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::path(VERLC_BINARY_DIR) / "lock-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

PluginIdentity identity(const std::filesystem::path& file) {
  return {"reward_x", "1.0", file, sha256_file(file), ""};
}

}  // namespace

TEST_CASE("a lock allows the files whose hashes it lists, wherever they lie") {
  const Folder folder;
  const auto plugin = folder.path() / "reward_x.so", other = folder.path() / "other.so";
  write_file(plugin, "one build");
  write_file(other, "another build");
  const auto file = folder.path() / "plugins.lock";
  write_file(file, "# allowed\n\n" + sha256("one build") + "  lib/reward_x.so\n");
  const PluginLock lock(file);
  lock.check(identity(plugin));
  REQUIRE_THROWS_WITH(lock.check(identity(other)), Catch::Contains("no line for other.so"));
  write_file(plugin, "one build, changed");
  REQUIRE_THROWS_WITH(lock.check(identity(plugin)),
                      Catch::Contains("lists reward_x.so as " + sha256("one build")) &&
                          Catch::Contains(sha256("one build, changed")));
}

TEST_CASE("a lock that is none is refused by line") {
  const Folder folder;
  const auto file = folder.path() / "plugins.lock";
  write_file(file, sha256("a") + "  a.so\n{\"a\": 1}\n");
  REQUIRE_THROWS_WITH(PluginLock(file), Catch::Contains("plugins.lock:2"));
  write_file(file, sha256("a") + "\n");
  REQUIRE_THROWS_WITH(PluginLock(file), Catch::Contains("plugins.lock:1"));
  REQUIRE_THROWS_AS(PluginLock(folder.path() / "absent"), Error);
}
