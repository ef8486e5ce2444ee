#include "fsdp/unit_panels.hpp"

#include "core/kernels/cpu/gemm.hpp"

namespace verlc::fsdp {
namespace {

bool is_operand(const Parameter& parameter, const Parameter* lookup) {
  return parameter.shape.size() == 2 && &parameter != lookup;
}

/// Outputs and reduction length of the product with a matrix [N, K], or with its transpose.
struct Sides {
  int64_t n, k;
};
Sides sides(const Parameter& parameter, bool transposed) {
  const int64_t rows = parameter.shape[0], columns = parameter.shape[1];
  return transposed ? Sides{columns, rows} : Sides{rows, columns};
}

}  // namespace

UnitPanels::Panels UnitPanels::make(const Context& context, const Unit& unit, const Parameter* lookup,
                                    bool transposed) const {
  Panels panels;
  const auto pack = transposed ? kernels::pack_weight_transposed : kernels::pack_weight;
  for (const Parameter& parameter : unit.parameters) {
    Tensor& made = panels.emplace_back();
    if (!is_operand(parameter, lookup)) continue;
    const auto [n, k] = sides(parameter, transposed);
    made = context.empty({kernels::packed_words(precision_, n, k)}, Category::param);
    pack(context.threads, precision_, parameter.var.value().f32(), parameter.shape[0], parameter.shape[1],
         made.raw());
  }
  return panels;
}

void UnitPanels::bind(const Context& context, Unit& unit, const Parameter* lookup, bool transposed) {
  Panels& panels = transposed ? backward_ : forward_;
  if (pack_ && panels.empty()) panels = make(context, unit, lookup, transposed);
  size_t i = 0;
  for (Parameter& parameter : unit.parameters) {
    const size_t index = i++;
    kernels::PackedMatrix& slot = transposed ? parameter.packed.backward : parameter.packed.forward;
    slot = {nullptr, precision_, 0};
    if (pack_ && is_operand(parameter, lookup))
      slot = {panels[index].raw(), precision_, sides(parameter, transposed).k};
  }
}

void UnitPanels::drop(Unit& unit) {
  forward_.clear();
  backward_.clear();
  for (Parameter& parameter : unit.parameters) parameter.packed = {};
}

int64_t panel_bytes(const Unit& unit, const Parameter* lookup, kernels::Precision precision,
                    bool transposed) {
  int64_t words = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (!is_operand(parameter, lookup)) continue;
    const auto [n, k] = sides(parameter, transposed);
    words += kernels::packed_words(precision, n, k);
  }
  return words * 4;
}

const Parameter* lookup_table(const Model& model) {
  return &model.embedding() == &model.head() ? nullptr : &model.embedding();
}

}  // namespace verlc::fsdp
