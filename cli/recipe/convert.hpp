// TOML values to the types of fields.
#pragma once

#include <string>

#include "recipe/field.hpp"
#include "recipe/toml.hpp"

namespace verlc {

/// A fault of one value: empty rule = none.
struct ValueFault {
  std::string rule;
  std::string fix;
};

/// Stores `node` in the field when it has the right type and range; FreeTable merges into what is there.
ValueFault convert_value(const toml::node& node, const FieldSpec& spec, FieldRef target);

/// A short text of a value for messages.
std::string describe_value(const toml::node& node);

}  // namespace verlc
