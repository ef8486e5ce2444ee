// The matrices of a unit packed for the products, made when the unit is first used under its weights.
#pragma once

#include <vector>

#include "core/models/model.hpp"
#include "core/services/engine_services.hpp"

namespace verlc::fsdp {

/// Panels of one unit. `pack` false: none are made, and products pack on the way (float32 only).
class UnitPanels {
 public:
  UnitPanels(kernels::Precision precision, bool pack) : precision_(precision), pack_(pack) {}

  /// Points the slots at panels for y = x w^T, or, transposed, for dx = dy w; made from the slots' values if
  /// there are none yet. `lookup`: a table that is no operand of a product, or null.
  void bind(const Context& context, Unit& unit, const Parameter* lookup, bool transposed);
  /// The values changed or went.
  void drop(Unit& unit);

 private:
  using Panels = std::vector<Tensor>;  // by parameter; undefined where it is no operand
  [[nodiscard]] Panels make(const Context& context, const Unit& unit, const Parameter* lookup,
                            bool transposed) const;

  kernels::Precision precision_;
  bool pack_;
  Panels forward_, backward_;
};

/// Bytes of the panels of a unit, for the forward product or its transpose.
int64_t panel_bytes(const Unit& unit, const Parameter* lookup, kernels::Precision precision, bool transposed);

/// The embedding when it is not the head as well.
const Parameter* lookup_table(const Model& model);

}  // namespace verlc::fsdp
