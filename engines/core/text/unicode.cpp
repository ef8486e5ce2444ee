#include "core/text/unicode.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "core/base/error.hpp"
#include "core/text/unicode_age.hpp"

namespace verlc::text {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

unsigned char byte_at(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

/// Characters below U+0300 never change under NFC; neither do kana without marks and the main ideographs.
bool is_stable_nfc(char32_t c) {
  return c < 0x300 || (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) ||
         (c >= 0x4E00 && c <= 0x9FA5);
}

bool needs_normalizing(std::string_view text, NormalForm form) {
  for (size_t i = 0; i < text.size();) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    if (form != NormalForm::nfc) return true;
    const CodePoint point = decode_at(text, i);
    if (!is_stable_nfc(point.value)) return true;
    i += point.size;
  }
  return false;
}

std::string map_to_form(std::string_view text, NormalForm form) {
  if (text.empty()) return {};
  int options = UTF8PROC_STABLE;
  const bool compose = form == NormalForm::nfc || form == NormalForm::nfkc;
  options |= compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::nfkc || form == NormalForm::nfkd) options |= UTF8PROC_COMPAT;
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &raw, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owned(raw, std::free);
  if (size < 0) {
    fail_run({.what = "text could not be brought into a Unicode normal form",
              .where = {},
              .value = utf8proc_errmsg(size),
              .fix = {}});
  }
  return {reinterpret_cast<const char*>(raw), static_cast<size_t>(size)};
}

}  // namespace

CodePoint decode_at(std::string_view text, size_t at) {
  if (at >= text.size()) return {0, 0};
  const unsigned char lead = byte_at(text, at);
  if (lead < 0x80) return {lead, 1};
  unsigned need = 0;
  char32_t value = 0;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    need = 1;
    value = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    need = 2;
    value = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    need = 3;
    value = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {kReplacement, 1};
  }
  for (unsigned i = 1; i <= need; ++i) {
    if (at + i >= text.size()) return {kReplacement, i};
    const unsigned char next = byte_at(text, at + i);
    if (next < low || next > high) return {kReplacement, i};
    low = 0x80;
    high = 0xBF;
    value = (value << 6) | (next & 0x3F);
  }
  return {value, need + 1};
}

void append_utf8(std::string& out, char32_t value) {
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) value = kReplacement;
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
  } else if (value < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (value >> 6)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else if (value < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (value >> 12)));
    out.push_back(static_cast<char>(0x80 | ((value >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (value >> 18)));
    out.push_back(static_cast<char>(0x80 | ((value >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((value >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (value & 0x3F)));
  }
}

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (byte_at(text, i) < 0x80) {
      ++i;
      continue;
    }
    const CodePoint point = decode_at(text, i);
    // A real U+FFFD takes three bytes and begins with EF; anything else that decodes to it is ill-formed.
    if (point.value == kReplacement && !(point.size == 3 && byte_at(text, i) == 0xEF)) return false;
    i += point.size;
  }
  return true;
}

std::string to_valid_utf8(std::string_view text) {
  if (is_valid_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + 16);
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    append_utf8(out, point.value);
    i += point.size;
  }
  return out;
}

size_t incomplete_tail(std::string_view text) {
  const size_t most = text.size() < 3 ? text.size() : 3;
  for (size_t back = most; back >= 1; --back) {
    const size_t at = text.size() - back;
    const unsigned char lead = byte_at(text, at);
    if (lead < 0xC2 || lead > 0xF4) continue;
    const CodePoint point = decode_at(text, at);
    const unsigned need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (point.value == kReplacement && point.size == back && need > back) return back;
  }
  return 0;
}

size_t count_code_points(std::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

bool is_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  if (c == 0x85) return true;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ZS || kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP;
}

bool is_number(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  }
  const utf8proc_category_t kind = category(c);
  return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  const utf8proc_category_t kind = category(c);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ME;
}

bool is_word(char32_t c) {
  if (c < 0x80) return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  const utf8proc_category_t kind = category(c);
  const bool letter = kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
  const bool circled = c >= 0x24B6 && c <= 0x24E9;  // Other_Alphabetic outside letters and marks
  const bool joiner = c == 0x200C || c == 0x200D;
  return letter || circled || joiner || is_mark(c) || kind == UTF8PROC_CATEGORY_ND ||
         kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_PC;
}

std::string normalize(std::string_view text, NormalForm form) {
  if (!needs_normalizing(text, form)) return std::string(text);
  std::string out;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    if (is_younger_mark(point.value)) {
      out += map_to_form(text.substr(begin, i - begin), form);
      out += text.substr(i, point.size);
      begin = i + point.size;
    }
    i += point.size;
  }
  return out + map_to_form(text.substr(begin), form);
}

namespace {

template <typename Map>
std::string map_code_points(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const CodePoint point = decode_at(text, i);
    map(out, point.value);
    i += point.size;
  }
  return out;
}

}  // namespace

std::string to_lower(std::string_view text) {
  return map_code_points(text, [](std::string& out, char32_t c) {
    if (c == 0x130) {  // the one code point whose lower case is two
      append_utf8(out, 'i');
      append_utf8(out, 0x307);
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
    }
  });
}

std::string to_upper(std::string_view text) {
  return map_code_points(text, [](std::string& out, char32_t c) {
    if (c == 0xDF) {
      out += "SS";
    } else {
      append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
    }
  });
}

std::string_view trim_space(std::string_view text, bool left, bool right) {
  while (left && !text.empty()) {
    const CodePoint point = decode_at(text, 0);
    if (!is_space(point.value)) break;
    text.remove_prefix(point.size);
  }
  while (right && !text.empty()) {
    size_t at = text.size() - 1;
    while (at > 0 && (byte_at(text, at) & 0xC0) == 0x80) --at;
    if (!is_space(decode_at(text, at).value)) break;
    text.remove_suffix(text.size() - at);
  }
  return text;
}

}  // namespace verlc::text
