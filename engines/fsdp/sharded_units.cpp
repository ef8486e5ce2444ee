#include "fsdp/sharded_units.hpp"

#include <utility>

#include "core/base/error.hpp"
#include "core/kernels/cpu/elementwise.hpp"

namespace verlc::fsdp {

ShardGroups make_groups(const Config& config, const plugin::Host& host, verlc_comm* dp) {
  plugin::Group all = host.group(dp);
  const int32_t rank = all.rank(), size = all.size();
  int32_t shard_size = size;
  if (config.sharding == Sharding::none) shard_size = 1;
  if (config.sharding == Sharding::hybrid) {
    if (config.fsdp_size < 1 || size % config.fsdp_size != 0)
      fail_input({.what = "must divide the number of ranks, " + std::to_string(size),
                  .where = "fsdp_size",
                  .value = std::to_string(config.fsdp_size),
                  .fix = "choose a divisor, or another sharding"});
    shard_size = static_cast<int32_t>(config.fsdp_size);
  }
  return {all.split(rank / shard_size, rank), all.split(rank % shard_size, rank)};
}

ShardedUnits::ShardedUnits(const Config& config, Model& model, EngineServices& services, ShardGroups groups)
    : config_(config),
      model_(model),
      services_(services),
      groups_(std::move(groups)),
      keep_whole_(config.sharding == Sharding::grad_op || !config.reshard_after_forward) {
  const Context context = services_.context();
  for (const Unit& unit : model_.units()) {
    State state{.flat = FlatUnit(unit, groups_.shard.size(), groups_.shard.rank()),
                .param = {},
                .grad = {},
                .m = {},
                .v = {},
                .whole = {},
                .whole_grad = {},
                .panels = UnitPanels(config_.precision(), config_.packs_weights()),
                .gather = {},
                .gathering = false};
    const Shape shape = {state.flat.shard_size()};
    state.param = context.zeros(shape, Category::param);
    if (config_.trainable) {
      state.grad = context.zeros(shape, Category::grad);
      state.m = context.zeros(shape, Category::optimizer);
      state.v = context.zeros(shape, Category::optimizer);
    }
    units_.push_back(std::move(state));
  }
}

ShardedUnits::~ShardedUnits() = default;

void ShardedUnits::start_gather(size_t unit) {
  State& state = units_[unit];
  if (state.whole.defined() || state.gathering) return;
  if (!sharded()) {
    state.whole = state.param;
    return;
  }
  const Tensor whole = services_.context().empty({state.flat.padded_size()}, Category::param);
  state.whole = whole;
  state.gathering = true;
  state.gather = groups_.shard.start_all_gather(std::span<const float>(state.param.floats()), whole.floats());
}

void ShardedUnits::ensure_whole(size_t unit) {
  start_gather(unit);
  State& state = units_[unit];
  if (!state.gathering) return;
  state.gather.wait();
  state.gathering = false;
}

void ShardedUnits::prefetch_after(size_t unit, bool backward) {
  if (!config_.forward_prefetch || !sharded()) return;
  if (!backward && unit + 1 < units_.size()) start_gather(unit + 1);
  if (backward && unit > 1) start_gather(unit - 1);
}

// Points the slots of the model into the gathered array.
void ShardedUnits::bind(size_t unit) {
  State& state = units_[unit];
  size_t i = 0;
  for (Parameter& parameter : model_.units()[unit].parameters) {
    const Tensor value = state.whole.part(state.flat.offset(i++), parameter.shape);
    if (!parameter.var.defined())
      parameter.var = config_.trainable ? Var::leaf(value) : Var::constant(value);
    else
      parameter.var.set_value(value);
  }
  state.panels.bind(services_.context(), model_.units()[unit], lookup_table(model_), false);
}

void ShardedUnits::acquire(Tape& tape, size_t unit) {
  ensure_whole(unit);
  bind(unit);
  // A forward that is repeated for its backward comes from the last unit to the first.
  if (unit > 0) prefetch_after(unit, config_.gradient_checkpointing && tape.recording());
  tape.on_backward([this, unit] { end_backward(unit); });
}

void ShardedUnits::release(Tape& tape, size_t unit, bool backward_next) {
  tape.on_backward([this, unit] { begin_backward(unit); });
  // The backward of the last unit follows at once.
  const bool last = unit + 1 == units_.size() && tape.recording();
  if (!backward_next && !last && !keep_whole_) drop(unit);
}

void ShardedUnits::begin_backward(size_t unit) {
  ensure_whole(unit);
  bind(unit);
  if (!config_.gradient_checkpointing) prefetch_after(unit, true);
  State& state = units_[unit];
  state.panels.bind(services_.context(), model_.units()[unit], lookup_table(model_), true);
  // Without sharding the gradient of the whole unit is the shard's own, summed in place.
  state.whole_grad = state.grad;
  if (sharded()) {
    state.whole_grad = services_.context().empty({state.flat.padded_size()}, Category::grad);
    kernels::fill_zero(services_.threads(), state.whole_grad.f32(),
                       static_cast<size_t>(state.whole_grad.size()));
  }
  size_t i = 0;
  for (Parameter& parameter : model_.units()[unit].parameters)
    parameter.var.set_grad(state.whole_grad.part(state.flat.offset(i++), parameter.shape));
}

void ShardedUnits::end_backward(size_t unit) {
  State& state = units_[unit];
  for (Parameter& parameter : model_.units()[unit].parameters) parameter.var.set_grad(Tensor());
  const Tensor whole_grad = std::exchange(state.whole_grad, Tensor());
  if (!keep_whole_) drop(unit);
  if (!sharded()) return;
  finish_reduction();
  Reduction reduction{
      whole_grad, services_.context().empty({state.flat.shard_size()}, Category::comm), {}, unit};
  reduction.request = groups_.shard.start_reduce_scatter(std::span<const float>(whole_grad.floats()),
                                                         reduction.part.floats());
  reduction_ = std::move(reduction);
}

void ShardedUnits::finish_reduction() {
  if (!reduction_) return;
  reduction_->request.wait();
  const Tensor& grad = units_[reduction_->unit].grad;
  kernels::add(services_.threads(), grad.f32(), reduction_->part.f32(), grad.f32(),
               static_cast<size_t>(grad.size()));
  reduction_.reset();
}

void ShardedUnits::finish_backward() {
  finish_reduction();
}

void ShardedUnits::reduce_over_replicas() {
  if (groups_.replica.size() == 1) return;
  for (State& state : units_)
    groups_.replica.all_reduce(std::span<const float>(state.grad.floats()), state.grad.floats());
}

void ShardedUnits::weights_changed() {
  for (size_t unit = 0; unit < units_.size(); ++unit) {
    drop(unit);
    drop_panels(unit);
  }
}

void ShardedUnits::drop_panels(size_t unit) {
  units_[unit].panels.drop(model_.units()[unit]);
}

void ShardedUnits::zero_grad() {
  finish_reduction();  // of a backward that was broken off
  for (State& state : units_)
    if (state.grad.defined())
      kernels::fill_zero(services_.threads(), state.grad.f32(), static_cast<size_t>(state.grad.size()));
}

Tensor ShardedUnits::whole(size_t unit) {
  ensure_whole(unit);
  return units_[unit].whole;
}

void ShardedUnits::drop(size_t unit) {
  State& state = units_[unit];
  if (state.gathering) ensure_whole(unit);
  state.whole = Tensor();
  if (sharded()) drop_panels(unit);
  for (Parameter& parameter : model_.units()[unit].parameters)
    if (parameter.var.defined()) parameter.var.set_value(Tensor());
}

}  // namespace verlc::fsdp
