// UTF-8 and the few Unicode properties that tokenizers ask for. Tables come from utf8proc, none are made
// here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verlc::text {

/// One decoded code point and the bytes that it took.
struct CodePoint {
  char32_t value = 0;
  uint32_t size = 0;  ///< 1..4; 0 only at the end of the text
};

/// Decodes the code point that starts at `at`. An ill-formed sequence gives U+FFFD and the size of its
/// longest valid beginning (at least 1), as the Unicode standard recommends (chapter 3.9, "maximal
/// subparts").
CodePoint decode_at(std::string_view text, size_t at);

/// Appends `value` as UTF-8; surrogates and values over U+10FFFF become U+FFFD.
void append_utf8(std::string& out, char32_t value);

/// True when `text` is well-formed UTF-8.
bool is_valid_utf8(std::string_view text);

/// `text` with every maximal ill-formed part replaced by U+FFFD (unchanged when it is well-formed).
std::string to_valid_utf8(std::string_view text);

/// The number of bytes at the end of `text` that begin a character but do not finish it (0..3).
size_t incomplete_tail(std::string_view text);

/// The number of code points; `text` must be well-formed.
size_t count_code_points(std::string_view text);

/// Unicode White_Space.
bool is_space(char32_t c);
/// General category N*.
bool is_number(char32_t c);
/// General category P*, and the ASCII symbols that `ispunct` of C counts.
bool is_punctuation(char32_t c);
/// General category M*.
bool is_mark(char32_t c);
/// What a regular expression's \w means: letters, marks, decimal digits, connectors.
bool is_word(char32_t c);

enum class NormalForm { nfc, nfd, nfkc, nfkd };

/// The text in a normal form of Unicode annex 15, with the marks of unicode_age.hpp left where they stand;
/// `text` must be well-formed.
std::string normalize(std::string_view text, NormalForm form);

/// Lower case code point by code point (no context rules), as the `tokenizers` library does.
std::string to_lower(std::string_view text);
/// Upper case code point by code point.
std::string to_upper(std::string_view text);

/// `text` without White_Space at its left and right end, as asked.
std::string_view trim_space(std::string_view text, bool left, bool right);

}  // namespace verlc::text
