// A curve drawn with characters.
#pragma once

#include <span>
#include <string>

namespace verlc {

struct CurveStyle {
  size_t width = 60;    ///< columns of the plot; longer series are averaged into them
  size_t height = 10;   ///< rows of the plot
  bool unicode = true;  ///< false: ASCII only
};

/// The series as lines of text, each ending in a line end: a value axis on the left, `title` above, first and
/// last step below. Values that are not finite leave a gap; a series without any finite value gives "".
std::string draw_curve(const std::string& title, std::span<const double> values, const CurveStyle& style);

}  // namespace verlc
