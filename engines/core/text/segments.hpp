// The pieces of a text on their way through the pre-tokenizers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/text/regex.hpp"

namespace verlc::text {

/// What becomes of the matches of a split.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// One part of a text, told whether the pattern matched it.
struct Part {
  Range range;
  bool matched = false;
};

/// A text and the pieces of it that are still in play, in order. Splitting keeps the text and narrows the
/// pieces; rewriting replaces both.
struct Segments {
  std::string text;
  std::vector<Range> pieces;
  bool starts_input = false;  ///< the first piece stands at offset 0 of what the user passed in

  [[nodiscard]] std::string_view view(const Range& piece) const {
    return std::string_view(text).substr(piece.begin, piece.end - piece.begin);
  }
};

/// Turns matches inside a text of `size` bytes into parts that cover all of it.
std::vector<Part> cover(const std::vector<Range>& matches, size_t size);

/// Applies `behavior` to covering parts and appends the pieces that remain, moved by `offset`; empty ones
/// vanish.
void append_split(std::vector<Part> parts, SplitBehavior behavior, size_t offset, std::vector<Range>& out);

/// Splits every piece: `find(std::string_view) -> std::vector<Part>` covers a piece with parts.
template <typename Find>
void split_all(Segments& segments, SplitBehavior behavior, Find find) {
  std::vector<Range> pieces;
  pieces.reserve(segments.pieces.size());
  const size_t begin = segments.pieces.empty() ? 0 : segments.pieces.front().begin;
  for (const Range& piece : segments.pieces) {
    append_split(find(segments.view(piece)), behavior, piece.begin, pieces);
  }
  segments.starts_input = segments.starts_input && !pieces.empty() && pieces.front().begin == begin;
  segments.pieces = std::move(pieces);
}

/// Rewrites every piece: `write(std::string& out, std::string_view piece, bool starts_input)` appends the new
/// text.
template <typename Write>
void rewrite_all(Segments& segments, Write write) {
  std::string text;
  text.reserve(segments.text.size() + segments.text.size() / 4 + 16);
  bool first = segments.starts_input;
  for (Range& piece : segments.pieces) {
    const size_t begin = text.size();
    write(text, segments.view(piece), first);
    piece = {begin, text.size()};
    first = false;
  }
  segments.text = std::move(text);
}

}  // namespace verlc::text
