#include "rollout/weights.hpp"

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/hf/checkpoint.hpp"

namespace verlc::rollout {
namespace {

using plugin::Failure;

HeldForm form_of(const Model& model, const Parameter& parameter) {
  if (parameter.shape.size() != 2) return HeldForm::vector;
  const bool lookup_only = &parameter == &model.embedding() && &parameter != &model.head();
  return lookup_only ? HeldForm::rows : HeldForm::panels;
}

std::string shape_text(std::span<const int64_t> shape) {
  return to_string(Shape(shape.begin(), shape.end()));
}

SourceTensor source_of(const verlc_tensor& tensor, const std::string& name) {
  const plugin::ElementType type = plugin::element_type(tensor);
  const bool is_bf16 = type == plugin::kBf16;
  if ((!is_bf16 && !(type == plugin::kF32)) || tensor.lanes != 1)
    throw Failure(VERLC_E_UNSUPPORTED, fmt::format("{}: element type {} is not supported; send f32 or bf16",
                                                   name, plugin::element_name(type)));
  if (tensor.device_type != VERLC_DEVICE_CPU)
    throw Failure(VERLC_E_UNSUPPORTED, name + ": only tensors in CPU memory are supported");
  SourceTensor source{plugin::raw_data(tensor), is_bf16 ? DType::bf16 : DType::f32, {}};
  if (!plugin::is_dense(tensor)) source.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  return source;
}

}  // namespace

Weights::Weights(const Context& context, Model& model, kernels::Precision precision)
    : context_(context), model_(model), precision_(precision) {
  for (Parameter* parameter : model.parameters())
    slots_.emplace(parameter->name, Slot{parameter, form_of(model, *parameter), nullptr});
}

std::unique_ptr<HeldWeight> Weights::make_held(const Slot& slot) const {
  return std::make_unique<HeldWeight>(context_, *slot.parameter, slot.form, precision_);
}

void Weights::load(const std::filesystem::path& folder) {
  const hf::HfCheckpoint checkpoint = hf::HfCheckpoint::open(folder);
  std::vector<hf::ExpectedTensor> expected;
  for (const auto& [name, slot] : slots_) expected.push_back({name, slot.parameter->shape});
  hf::TieRule tie;
  tie.tied = model_.config().tied_head;
  (void)checkpoint.match(expected, tie);
  for (auto& [name, slot] : slots_) {
    const Tensor dense = context_.empty(slot.parameter->shape, Category::work);
    checkpoint.read_f32(name, slot.parameter->shape, dense.f32(), &context_.threads);
    slot.held = make_held(slot);
    slot.held->set(context_, {dense.raw(), DType::f32, {}});
  }
  bind_all();
}

void Weights::load_random(uint64_t seed) {
  for (auto& [name, slot] : slots_) {
    const Tensor dense = context_.empty(slot.parameter->shape, Category::work);
    initialize(*slot.parameter, model_.config(), seed, dense.f32());
    slot.held = make_held(slot);
    slot.held->set(context_, {dense.raw(), DType::f32, {}});
  }
  bind_all();
}

void Weights::bind_all() {
  for (auto& [name, slot] : slots_) slot.held->bind(*slot.parameter);
  present_ = true;
}

void Weights::drop() {
  for (auto& [name, slot] : slots_) {
    slot.parameter->var = Var();
    slot.parameter->packed = {};
    slot.held.reset();
  }
  present_ = false;
}

const Weights::Slot& Weights::slot_for(const verlc_named_tensor& weight, const std::string& name) const {
  const auto found = slots_.find(name);
  if (found == slots_.end()) {
    std::vector<std::string> known;
    for (const auto& [each, slot] : slots_) known.push_back(each);
    const std::vector<std::string> nearest = nearest_names(name, known, 1);
    throw Failure(VERLC_E_ARGUMENT, fmt::format("the model has no weight {}{}", name,
                                                nearest.empty() ? "" : "; nearest: " + nearest.front()));
  }
  if (weight.tensor == nullptr) throw Failure(VERLC_E_ARGUMENT, name + ": no tensor");
  if (weight.full_ndim != 0)
    throw Failure(VERLC_E_UNSUPPORTED, name + ": only whole weights are supported, this is a shard");
  const Shape& shape = found->second.parameter->shape;
  const std::span<const int64_t> sent = plugin::shape_of(weight.tensor->tensor);
  if (!std::equal(sent.begin(), sent.end(), shape.begin(), shape.end()))
    throw Failure(VERLC_E_ARGUMENT, fmt::format("{}: has shape {}, the model's is {}", name, shape_text(sent),
                                                to_string(shape)));
  return found->second;
}

void Weights::stage(std::span<const verlc_named_tensor* const> weights) {
  HeldByName taken;
  for (const verlc_named_tensor* weight : weights) {
    const std::string name(plugin::to_view(weight->name));
    const Slot& slot = slot_for(*weight, name);
    if (staged_.count(name) > 0 || taken.count(name) > 0)
      throw Failure(VERLC_E_ARGUMENT, name + " was sent before in this update");
    const SourceTensor source = source_of(weight->tensor->tensor, name);
    std::unique_ptr<HeldWeight> held = make_held(slot);
    held->set(context_, source);
    taken.emplace(name, std::move(held));
  }
  staged_.merge(taken);
}

std::vector<std::string> Weights::not_staged(size_t most, size_t& count) const {
  std::vector<std::string> names;
  count = 0;
  for (const auto& [name, slot] : slots_) {
    if (staged_.count(name) > 0) continue;
    if (names.size() < most) names.push_back(name);
    ++count;
  }
  return names;
}

void Weights::commit_staged() {
  for (auto& [name, held] : staged_) slots_.find(name)->second.held = std::move(held);
  staged_.clear();
  bind_all();
}

std::string Weights::digest() const {
  WeightsDigest digest;
  for (const auto& [name, slot] : slots_) slot.held->add_to(context_, digest);
  return digest.hex();
}

Tensor Weights::embed(std::span<const int32_t> ids) const {
  const int64_t hidden = model_.config().hidden;
  const HeldWeight& table = *slots_.find(model_.embedding().name)->second.held;
  Tensor out = context_.empty({static_cast<int64_t>(ids.size()), hidden});
  context_.threads.for_each(static_cast<int>(ids.size()), [&](int t) {
    table.read_row(ids[static_cast<size_t>(t)], out.f32() + t * hidden);
  });
  return out;
}

}  // namespace verlc::rollout
