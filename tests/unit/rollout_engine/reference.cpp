#include "unit/rollout_engine/reference.hpp"

#include "core/base/rng.hpp"
#include "core/base/weights_digest.hpp"
#include "core/kernels/cpu/elementwise.hpp"

namespace verlc::rollout::test {
namespace {

std::map<std::string, Parameter*> by_name(Model& model) {
  std::map<std::string, Parameter*> parameters;
  for (Parameter* parameter : model.parameters()) parameters[parameter->name] = parameter;
  return parameters;
}

}  // namespace

ReferenceModel::ReferenceModel(const std::filesystem::path& folder)
    : model_(read_model_config(folder)), rotary_(memory_, model_.config().rope, model_.config().head_dim) {
  const hf::HfCheckpoint checkpoint = hf::HfCheckpoint::open(folder);
  for (Parameter* parameter : model_.parameters()) {
    const Tensor value = context_.empty(parameter->shape, Category::param);
    checkpoint.read_f32(parameter->name, parameter->shape, value.f32());
    parameter->var = Var::constant(value);
  }
}

std::vector<std::vector<float>> ReferenceModel::logp(const std::vector<Request>& requests,
                                                     const std::vector<std::vector<int32_t>>& responses) {
  std::vector<int32_t> tokens, positions;
  std::vector<uint8_t> mask;
  std::vector<float> temperature;
  auto segments = std::make_shared<PackedSegments>(PackedSegments{{0}, {}});
  std::vector<int32_t>& cu_seqlens = segments->cu_seqlens;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<int32_t> all = requests[i].prompt;
    all.insert(all.end(), responses[i].begin(), responses[i].end());
    for (size_t t = 0; t < all.size(); ++t) {
      tokens.push_back(all[t]);
      positions.push_back(static_cast<int32_t>(t));
      mask.push_back(t >= requests[i].prompt.size() ? 1 : 0);
    }
    const double t = requests[i].sampling.temperature;
    temperature.push_back(t > 0 ? static_cast<float>(t) : 1.0f);
    cu_seqlens.push_back(static_cast<int32_t>(tokens.size()));
  }
  PackedAttention attention(segments);
  const RotaryRows rows = rotary_.rows(positions, cu_seqlens);
  Tape tape(context_, false);
  const ForwardContext pass{tape, attention, rows.view()};
  ResidentUnits resident;
  const Tensor ids = Tensor::borrow(tokens.data(), {static_cast<int64_t>(tokens.size())}, DType::i32);
  const LogprobRows chosen = logprob_rows(tokens, cu_seqlens, mask, temperature);
  const Var hidden = forward_hidden(model_, pass, ids, resident, false);
  const Var logp = forward_logprob(model_, pass, hidden, chosen, false).front();
  std::vector<std::vector<float>> result;
  const float* next = logp.value().f32();
  for (const std::vector<int32_t>& response : responses) {
    result.emplace_back(next, next + response.size());
    next += response.size();
  }
  return result;
}

std::vector<plugin::NamedTensor> ReferenceModel::export_weights(bool bf16) {
  std::vector<plugin::NamedTensor> weights;
  for (const auto& [name, parameter] : by_name(model_)) {
    const Tensor& value = parameter->var.value();
    const void* data = value.raw();
    if (bf16) {
      std::vector<uint16_t>& narrow = narrow_[name];
      narrow.resize(static_cast<size_t>(value.size()));
      kernels::narrow_bf16(pool_, value.f32(), narrow.data(), narrow.size());
      data = narrow.data();
    }
    weights.emplace_back(name, plugin::ManagedTensor(plugin::make_managed_tensor(
                                   data, bf16 ? plugin::kBf16 : plugin::kF32, value.shape())));
  }
  return weights;
}

std::string ReferenceModel::digest(bool bf16) {
  WeightsDigest digest;
  for (const plugin::NamedTensor& weight : export_weights(bf16)) {
    const verlc_tensor& tensor = weight.get()->tensor->tensor;
    digest.add(weight.name(), bf16 ? "bf16" : "f32", plugin::shape_of(tensor), tensor.data,
               plugin::num_bytes(tensor));
  }
  return digest.hex();
}

void ReferenceModel::shift(float delta) {
  for (Parameter* parameter : model_.parameters())
    for (float& value : parameter->var.value().floats()) value += delta;
}

void ReferenceModel::round_to_bf16() {
  for (Parameter* parameter : model_.parameters())
    for (float& value : parameter->var.value().floats()) value = bf16_to_f32(f32_to_bf16(value));
}

std::vector<Request> make_requests(int64_t vocab, size_t groups, size_t samples, int64_t longest_prompt,
                                   int64_t max_new_tokens) {
  RandomStream random(11, Purpose::test, 7);
  std::vector<Request> requests;
  for (size_t g = 0; g < groups; ++g) {
    std::vector<int32_t> prompt(1 + random.below(static_cast<uint64_t>(longest_prompt)));
    for (int32_t& token : prompt) token = static_cast<int32_t>(random.below(static_cast<uint64_t>(vocab)));
    for (size_t s = 0; s < samples; ++s) {
      Request request;
      request.id = 100 + requests.size();
      request.seed = 7 * requests.size() + 1;
      request.prefix = g + 1;
      request.prompt = prompt;
      request.sampling.max_new_tokens = max_new_tokens;
      request.sampling.temperature = g % 2 == 0 ? 1.0 : 0.7;
      if (g % 3 == 2) request.sampling.top_p = 0.9;
      requests.push_back(request);
    }
  }
  return requests;
}

}  // namespace verlc::rollout::test
