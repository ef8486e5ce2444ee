#include "track/metrics_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/file.hpp"

namespace verlc {
namespace {

[[noreturn]] void fail_system(const std::filesystem::path& path, const char* action) {
  const int code = errno;
  fail_run({.what = std::string("cannot ") + action + ": " + std::strerror(code),
            .where = path.string(),
            .value = {},
            .fix = code == ENOSPC ? "free some space and resume" : ""});
}

// The step of a complete line; none when it is no line of ours.
std::optional<uint64_t> step_of(std::string_view line) {
  const nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto step = value.find("step");
  if (step == value.end() || !step->is_number_unsigned()) return std::nullopt;
  return step->get<uint64_t>();
}

}  // namespace

MetricsFile::MetricsFile(std::filesystem::path path) : path_(std::move(path)) {
  if (std::filesystem::exists(path_)) {
    const std::string text = read_file(path_);
    const size_t whole = text.rfind('\n') + 1;  // 0 when there is no line end
    if (whole != text.size()) write_file(path_, std::string_view(text).substr(0, whole));
  }
  open();
}

MetricsFile::~MetricsFile() {
  if (fd_ >= 0) ::close(fd_);
}

void MetricsFile::open() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) fail_system(path_, "open");
}

size_t MetricsFile::drop_after(uint64_t step) {
  const std::string text = read_file(path_);
  std::string kept;
  size_t dropped = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    const std::optional<uint64_t> at = step_of(line);
    if (at && *at > step)
      ++dropped;
    else
      kept += line;
  }
  if (dropped == 0) return 0;
  // The rename puts another file in place, so the old descriptor must go.
  ::close(std::exchange(fd_, -1));
  write_file(path_, kept);
  open();
  return dropped;
}

std::vector<double> MetricsFile::series(const std::string& name) const {
  const std::string text = read_file(path_);
  std::vector<double> values;
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const nlohmann::json line = nlohmann::json::parse(rest.substr(0, end), nullptr, false);
    rest.remove_prefix(end);
    if (!line.is_object()) continue;
    const auto value = line.find(name);
    if (value != line.end() && value->is_number()) values.push_back(value->get<double>());
  }
  return values;
}

void MetricsFile::write(uint64_t step, const MetricValues& values) {
  nlohmann::ordered_json object;
  object["step"] = step;
  for (const auto& [name, value] : values) object[name] = value;
  const std::string line = object.dump() + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t done = ::write(fd_, rest.data(), rest.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_system(path_, "write");
    rest.remove_prefix(static_cast<size_t>(done));
  }
}

void MetricsFile::sync() {
  if (::fdatasync(fd_) != 0) fail_system(path_, "sync");
}

}  // namespace verlc
