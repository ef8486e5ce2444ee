#include "core/autograd/tape.hpp"

#include <utility>

namespace verlc {
namespace {

// The body of recompute() as an op: forward without a tape, backward with a tape of its own.
class Recompute final : public Op {
 public:
  explicit Recompute(std::function<Var(Tape&, const Var&)> body) : body_(std::move(body)) {}
  [[nodiscard]] std::string name() const override { return "recompute"; }

  std::vector<Tensor> forward(const Context& context, std::span<const Tensor> in) override {
    Tape quiet(context, false);
    return {body_(quiet, Var::constant(in[0])).value()};
  }

  void backward(const Context& context, std::span<const Tensor> in, std::span<const Tensor>,
                std::span<const Tensor> d_out, std::span<const GradSlot> d_in) override {
    Tape inner(context, true);
    const Var x = Var::leaf(in[0]);
    const Var y = body_(inner, x);
    inner.backward({&y, 1}, d_out.first(1));
    if (x.grad().defined()) d_in[0].give(context, x.grad());
  }

 private:
  std::function<Var(Tape&, const Var&)> body_;
};

}  // namespace

std::vector<Var> Tape::apply(std::unique_ptr<Op> op, std::vector<Var> in) {
  std::vector<Tensor> values;
  bool needs_grad = false;
  for (const Var& var : in) {
    values.push_back(var.value());
    needs_grad = needs_grad || var.requires_grad();
  }
  std::vector<Var> out;
  const bool record = recording_ && needs_grad;
  for (Tensor& value : op->forward(context_, values))
    out.push_back(record ? Var::leaf(std::move(value)) : Var::constant(std::move(value)));
  if (!record) return out;
  Entry entry{std::move(op), std::move(in), out, {}};
  // Handles of values that backward does not read keep their gradient cell but lose their tensor.
  if (!entry.op->reads_inputs())
    for (Var& var : entry.in) var = Var(Tensor(), var.grad_);
  if (!entry.op->reads_outputs())
    for (Var& var : entry.out) var = Var(Tensor(), var.grad_);
  entries_.push_back(std::move(entry));
  return out;
}

void Tape::on_backward(std::function<void()> action) {
  if (recording_) entries_.push_back({nullptr, {}, {}, std::move(action)});
}

void Tape::walk(Entry& entry) {
  if (entry.action) {
    entry.action();
    return;
  }
  std::vector<Tensor> in, out, d_out;
  std::vector<GradSlot> d_in;
  bool any = false;
  for (const Var& var : entry.out) {
    out.push_back(var.value());
    d_out.push_back(std::exchange(*var.grad_, Tensor()));
    any = any || d_out.back().defined();
  }
  if (!any) return;
  for (const Var& var : entry.in) {
    in.push_back(var.value());
    d_in.emplace_back(var.grad_.get());
  }
  entry.op->backward(context_, in, out, d_out, d_in);
}

void Tape::backward(std::span<const Var> out, std::span<const Tensor> d_out) {
  check(recording_, "only a recorded pass has a backward");
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i].requires_grad() && d_out[i].defined()) GradSlot(out[i].grad_.get()).give(context_, d_out[i]);
  while (!entries_.empty()) {
    Entry entry = std::move(entries_.back());
    entries_.pop_back();
    walk(entry);
  }
}

Var Tape::recompute(const Var& in, std::function<Var(Tape& tape, const Var& in)> body) {
  if (!recording_) return body(*this, in);
  // Weights inside the body need gradients even where its input does not.
  const Var x = in.requires_grad() ? in : Var::leaf(in.value());
  return run(std::make_unique<Recompute>(std::move(body)), {x});
}

}  // namespace verlc
