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

void UnitPanels::make(const Context& context, const Unit& unit, const Parameter* lookup, bool transposed,
                      Panels& panels, Pack pack) const {
  if (!panels.empty()) return;
  for (const Parameter& parameter : unit.parameters) {
    Tensor& made = panels.emplace_back();
    if (!is_operand(parameter, lookup)) continue;
    const auto [n, k] = sides(parameter, transposed);
    made = context.empty({kernels::packed_words(precision_, n, k)}, Category::param);
    pack(context.threads, precision_, parameter.var.value().f32(), parameter.shape[0], parameter.shape[1],
         made.raw());
  }
}

void UnitPanels::bind_forward(const Context& context, Unit& unit, const Parameter* lookup) {
  if (pack_) make(context, unit, lookup, false, forward_, kernels::pack_weight);
  size_t i = 0;
  for (Parameter& parameter : unit.parameters) {
    const size_t index = i++;
    parameter.packed.forward = {nullptr, precision_, 0};
    if (pack_ && is_operand(parameter, lookup))
      parameter.packed.forward = {forward_[index].raw(), precision_, sides(parameter, false).k};
  }
}

void UnitPanels::bind_backward(const Context& context, Unit& unit, const Parameter* lookup) {
  if (!pack_) return;
  make(context, unit, lookup, true, backward_, kernels::pack_weight_transposed);
  size_t i = 0;
  for (Parameter& parameter : unit.parameters) {
    const size_t index = i++;
    if (is_operand(parameter, lookup))
      parameter.packed.backward = {backward_[index].raw(), precision_, sides(parameter, true).k};
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
