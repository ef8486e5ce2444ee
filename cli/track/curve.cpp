#include "track/curve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace verlc {
namespace {

constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kEighths = 8;

// Mean of the finite values of each column.
std::vector<double> columns_of(std::span<const double> values, size_t width) {
  const size_t columns = std::min(width, values.size());
  std::vector<double> means(columns, kNoValue);
  for (size_t c = 0; c < columns; ++c) {
    double sum = 0.0;
    size_t count = 0;
    for (size_t i = c * values.size() / columns; i < (c + 1) * values.size() / columns; ++i) {
      if (!std::isfinite(values[i])) continue;
      sum += values[i];
      ++count;
    }
    if (count > 0) means[c] = sum / static_cast<double>(count);
  }
  return means;
}

// The character of a column filled up to `eighths` eighths of this row.
const char* block(size_t eighths, bool unicode) {
  static constexpr std::array<const char*, kEighths + 1> kBlocks = {" ", "▁", "▂", "▃", "▄",
                                                                    "▅", "▆", "▇", "█"};
  if (unicode) return kBlocks[eighths];
  return eighths == 0 ? " " : (eighths <= kEighths / 2 ? "." : "#");
}

}  // namespace

std::string draw_curve(const std::string& title, std::span<const double> values, const CurveStyle& style) {
  if (values.empty() || style.width == 0 || style.height == 0) return "";
  const std::vector<double> columns = columns_of(values, style.width);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : columns) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!(low <= high)) return "";
  if (high == low) low -= 1.0;
  // The lowest column still shows one eighth, so that a gap can be told from it.
  const auto filled = [&](double value) {
    if (!std::isfinite(value)) return size_t{0};
    const double most = static_cast<double>(style.height * kEighths - 1);
    return 1 + static_cast<size_t>(std::lround((value - low) / (high - low) * most));
  };
  std::string text = title + "\n";
  const char* axis = style.unicode ? "┤" : "|";
  for (size_t row = style.height; row-- > 0;) {
    const bool top = row + 1 == style.height, bottom = row == 0;
    text += top || bottom ? fmt::format("{:>10.4g} ", top ? high : low) : std::string(11, ' ');
    text += axis;
    for (const double value : columns) {
      const size_t eighths = filled(value);
      text +=
          block(eighths <= row * kEighths ? 0 : std::min(kEighths, eighths - row * kEighths), style.unicode);
    }
    text += "\n";
  }
  const std::string last = std::to_string(values.size());
  const size_t gap = columns.size() > last.size() + 1 ? columns.size() - last.size() - 1 : 1;
  text += std::string(12, ' ') + "1" + (values.size() > 1 ? std::string(gap, ' ') + last : "") + "\n";
  return text;
}

}  // namespace verlc
