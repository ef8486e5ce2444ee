// A weight's slot: its name and shape are fixed with the model, its value comes and goes with the engine.
#pragma once

#include <deque>
#include <string>

#include "core/autograd/var.hpp"
#include "core/ops/linear.hpp"

namespace verlc {

/// How a weight starts when there is no checkpoint.
enum class Init { normal, zeros, ones };

struct Parameter {
  std::string name;  ///< Hugging Face name
  Shape shape;
  Init init = Init::normal;
  Var var;              ///< set by the engine before use; undefined while the weight is elsewhere
  PackedWeight packed;  ///< panels of the weight for the forward product, when the engine keeps them
};

/// Parameters that are gathered, used and released together: one layer, or what stands outside the layers.
struct Unit {
  std::string name;
  std::deque<Parameter> parameters;  ///< addresses stay valid

  /// Adds a slot and returns it.
  Parameter& add(std::string parameter_name, Shape shape, Init init = Init::normal) {
    return parameters.emplace_back(Parameter{std::move(parameter_name), std::move(shape), init, {}, {}});
  }
};

}  // namespace verlc
