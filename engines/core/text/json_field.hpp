// Typed reads from a JSON object of a tokenizer file, with errors that name the key.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace verlc::text {

using Json = nlohmann::json;

/// A JSON object and the dotted path that led to it, for messages. Does not own the object.
struct JsonField {
  const Json* value;
  std::string where;

  /// The member `key`; Error(input) when this is not an object or lacks it.
  [[nodiscard]] JsonField at(std::string_view key) const;
  /// The i-th element of an array.
  [[nodiscard]] JsonField at(size_t index) const;
  /// True when the member exists and is not null.
  [[nodiscard]] bool has(std::string_view key) const;
  /// The length of an array; Error(input) when it is none.
  [[nodiscard]] size_t size() const;

  [[nodiscard]] std::string string() const;
  [[nodiscard]] bool boolean() const;
  /// An integer in [low, high].
  [[nodiscard]] int64_t integer(int64_t low, int64_t high) const;

  [[nodiscard]] std::string string_or(std::string_view key, std::string_view fallback) const;
  [[nodiscard]] bool boolean_or(std::string_view key, bool fallback) const;
  [[nodiscard]] int64_t integer_or(std::string_view key, int64_t fallback, int64_t low, int64_t high) const;

  /// The member "type"; every part of a tokenizer has one.
  [[nodiscard]] std::string type() const { return at("type").string(); }
  /// Error(input): this part's type is not one of `supported`.
  [[noreturn]] void unsupported(std::string_view part, std::string_view supported) const;
  /// Error(input): the value breaks `rule`.
  [[noreturn]] void broken(std::string_view rule, std::string_view fix = {}) const;
};

/// Parses JSON text; Error(input) naming `where` and the byte when it is malformed. Nesting over 200 levels
/// is refused, so that nothing recursive can overflow the stack.
Json parse_json(std::string_view text, const std::string& where);

}  // namespace verlc::text
