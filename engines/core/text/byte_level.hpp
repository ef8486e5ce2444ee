// The byte alphabet of byte-level BPE (GPT-2): every byte stands for one printable character, so that any
// text becomes a string over 256 visible symbols.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace verlc::text {

/// The code point that stands for `byte`: itself where printable in Latin-1, else 256, 257, ... in byte
/// order.
char32_t byte_to_symbol(uint8_t byte);

/// The byte that `symbol` stands for, or -1.
int symbol_to_byte(char32_t symbol);

/// Appends the symbols of all bytes of `text`.
void append_symbols(std::string& out, std::string_view text);

/// Appends the bytes that `token` stands for; a token with a foreign character is appended as it is.
void append_bytes(std::string& out, std::string_view token);

}  // namespace verlc::text
