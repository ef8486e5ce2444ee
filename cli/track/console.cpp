#include "track/console.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

namespace verlc {
namespace {

constexpr const char* kReward = "critic/score/mean";
constexpr const char* kLoss = "train/loss";
constexpr size_t kBarWidth = 16;

std::optional<double> value_of(const MetricValues& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::string bar(double share, size_t width, bool unicode) {
  const auto full =
      static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(width)));
  std::string text;
  for (size_t i = 0; i < width; ++i) text += i < full ? (unicode ? "█" : "#") : (unicode ? "░" : "-");
  return text;
}

// The text in an ANSI colour; as it is without one.
std::string paint(const std::string& text, const char* code) {
  if (*code == '\0') return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

bool utf8_locale() {
  // The first variable that is set decides, as in POSIX.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    return std::strstr(value, "UTF-8") != nullptr || std::strstr(value, "utf8") != nullptr;
  }
  return false;
}

}  // namespace

ConsoleStyle console_style(std::FILE* stream) {
  const char* no_color = std::getenv("NO_COLOR");
  const bool terminal = ::isatty(::fileno(stream)) == 1;
  return {.color = terminal && (no_color == nullptr || *no_color == '\0'), .unicode = utf8_locale()};
}

std::string short_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0.0) return "?";
  constexpr double kMost = 1e9;
  const auto s = static_cast<int64_t>(std::min(seconds, kMost) + 0.5);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

const char* headline_metric(bool sft) {
  return sft ? kLoss : kReward;
}

Console::Console(std::FILE* stream, ConsoleStyle style, uint64_t total_steps, std::vector<double> earlier)
    : stream_(stream), style_(style), total_steps_(total_steps), series_(std::move(earlier)) {}

void Console::print(const std::string& line) {
  std::fputs((line + "\n").c_str(), stream_);
  std::fflush(stream_);
}

void Console::step(uint64_t step, const MetricValues& values, double seconds) {
  // Steps differ in length; a slow average keeps the time left from jumping.
  constexpr double kNewest = 0.1;
  mean_seconds_ = mean_seconds_ == 0.0 ? seconds : (1.0 - kNewest) * mean_seconds_ + kNewest * seconds;
  const std::string total = std::to_string(total_steps_);
  std::string line = fmt::format("step {:>{}}/{}", step, total.size(), total);
  if (style_.color) {
    const double share = static_cast<double>(step) / static_cast<double>(std::max<uint64_t>(1, total_steps_));
    line.append(" ").append(bar(share, kBarWidth, style_.unicode));
  }
  const auto reward = value_of(values, kReward), loss = value_of(values, kLoss);
  const auto headline = reward ? reward : loss;
  if (headline) {
    const bool has_previous = !series_.empty();
    const double change = has_previous ? *headline - series_.back() : 0.0;
    const bool better = reward ? change > 0.0 : change < 0.0;
    std::string text = fmt::format("  {} {:.4f}", reward ? "reward" : "loss", *headline);
    if (has_previous) text += fmt::format(" ({:+.4f})", change);
    line.append(paint(text, style_.color && better ? "32" : ""));
    curve_title_ = reward ? "reward by step" : "loss by step";
    series_.push_back(*headline);
  }
  if (const auto gap = value_of(values, "training/rollout_probs_diff_max"))
    line += fmt::format("  gap {:.1e}", *gap);
  if (const auto length = value_of(values, "response_length/mean"))
    line += fmt::format("  length {:.1f}", *length);
  if (const auto speed = value_of(values, "perf/throughput")) line += fmt::format("  {:.0f} tok/s", *speed);
  const double left = static_cast<double>(total_steps_ > step ? total_steps_ - step : 0) * mean_seconds_;
  line.append("  left ").append(short_duration(left));
  print(line);
}

void Console::note(const std::string& text) {
  print(text);
}

void Console::curve() {
  if (series_.size() < 2) return;
  std::string drawn = draw_curve(curve_title_, series_, {.unicode = style_.unicode});
  if (drawn.empty()) return;
  drawn.pop_back();
  print(drawn);
}

void Console::before_after(const std::string& name, double before, double after) {
  const std::string text = fmt::format("{}: {:.3f} before, {:.3f} after", name, before, after);
  print(paint(text, style_.color && after > before ? "1;32" : ""));
}

}  // namespace verlc
