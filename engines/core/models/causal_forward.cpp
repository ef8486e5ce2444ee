#include "core/models/causal_forward.hpp"

#include "core/ops/gather_rows.hpp"
#include "core/ops/vocab_logprob.hpp"

namespace verlc {

Var forward_hidden(const Model& model, const ForwardContext& context, const Tensor& ids, UnitSource& source,
                   bool recompute) {
  Var x = model.embed(context, ids);
  for (int64_t i = 0; i < model.config().num_layers; ++i) {
    const auto unit = static_cast<size_t>(i) + 1;
    const auto body = [&model, &source, attention = &context.attention, rotary = context.rotary, i, unit,
                       recompute](Tape& tape, const Var& in) {
      source.acquire(tape, unit);
      Var out = model.layer({tape, *attention, rotary}, i, in);
      source.release(tape, unit, recompute && tape.recording());
      return out;
    };
    x = recompute ? context.tape.recompute(x, body) : body(context.tape, x);
  }
  return model.final_norm(context, x);
}

LogprobRows logprob_rows(std::span<const int32_t> tokens, std::span<const int32_t> cu_seqlens,
                         std::span<const uint8_t> mask, std::span<const float> temperature) {
  LogprobRows result;
  for (size_t s = 0; s + 1 < cu_seqlens.size(); ++s) {
    const float inverse = temperature.empty() ? 1.0f : 1.0f / temperature[s];
    for (int32_t t = cu_seqlens[s] + 1; t < cu_seqlens[s + 1]; ++t) {
      if (mask[static_cast<size_t>(t)] == 0) continue;
      result.rows.push_back(t - 1);
      result.targets.push_back(tokens[static_cast<size_t>(t)]);
      result.inv_temperature.push_back(inverse);
      result.tokens.push_back(t);
    }
  }
  return result;
}

std::vector<Var> forward_logprob(const Model& model, const ForwardContext& context, const Var& hidden,
                                 const LogprobRows& rows, bool with_entropy) {
  const Var chosen = context.tape.run(std::make_unique<ops::GatherRows>(rows.rows), {hidden});
  return context.tape.apply(std::make_unique<ops::VocabLogprob>(rows.targets, rows.inv_temperature,
                                                                with_entropy, &model.head().packed),
                            {chosen, model.head().var});
}

}  // namespace verlc
