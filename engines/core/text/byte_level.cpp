#include "core/text/byte_level.hpp"

#include <array>

#include "core/text/unicode.hpp"

namespace verlc::text {
namespace {

constexpr bool is_own_symbol(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE);
}

constexpr std::array<uint16_t, 256> make_symbols() {
  std::array<uint16_t, 256> symbols{};
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    symbols[byte] = static_cast<uint16_t>(is_own_symbol(byte) ? byte : next++);
  }
  return symbols;
}

constexpr std::array<uint16_t, 256> kSymbols = make_symbols();

constexpr std::array<int16_t, 512> make_bytes() {
  std::array<int16_t, 512> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  for (unsigned byte = 0; byte < 256; ++byte) bytes[kSymbols[byte]] = static_cast<int16_t>(byte);
  return bytes;
}

constexpr std::array<int16_t, 512> kBytes = make_bytes();

}  // namespace

char32_t byte_to_symbol(uint8_t byte) {
  return kSymbols[byte];
}

int symbol_to_byte(char32_t symbol) {
  return symbol < kBytes.size() ? kBytes[symbol] : -1;
}

void append_symbols(std::string& out, std::string_view text) {
  for (const char c : text) {
    const uint16_t symbol = kSymbols[static_cast<unsigned char>(c)];
    if (symbol < 0x80) {
      out.push_back(static_cast<char>(symbol));
    } else {
      out.push_back(static_cast<char>(0xC0 | (symbol >> 6)));
      out.push_back(static_cast<char>(0x80 | (symbol & 0x3F)));
    }
  }
}

void append_bytes(std::string& out, std::string_view token) {
  const size_t before = out.size();
  for (size_t i = 0; i < token.size();) {
    const CodePoint point = decode_at(token, i);
    const int byte = symbol_to_byte(point.value);
    if (byte < 0) {
      out.resize(before);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(byte));
    i += point.size;
  }
}

}  // namespace verlc::text
