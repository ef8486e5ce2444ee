#include <string>

#include "fsdp/engine.hpp"

namespace verlc::fsdp {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw plugin::Failure(VERLC_E_ARGUMENT, message);
}

template <typename T>
std::span<const T> required(const verlc_tensor* tensor, const char* name) {
  if (tensor == nullptr) refuse(std::string(name) + " is NULL");
  return plugin::elements<const T>(*tensor, name);
}

void check_sequences(const Batch& batch, int64_t vocab) {
  const size_t count = batch.tokens.size();
  if (batch.positions.size() != count || batch.mask.size() != count)
    refuse("tokens, positions and loss_mask must have one length");
  if (batch.cu_seqlens.empty() || batch.cu_seqlens.front() != 0 ||
      batch.cu_seqlens.back() != static_cast<int32_t>(count))
    refuse("cu_seqlens must run from 0 to the number of tokens");
  for (size_t s = 0; s + 1 < batch.cu_seqlens.size(); ++s) {
    if (batch.cu_seqlens[s] > batch.cu_seqlens[s + 1]) refuse("cu_seqlens must not fall");
    const bool has_tokens = batch.cu_seqlens[s] < batch.cu_seqlens[s + 1];
    if (has_tokens && batch.mask[static_cast<size_t>(batch.cu_seqlens[s])] != 0)
      refuse("the first token of sequence " + std::to_string(s) +
             " has no log-prob, its loss_mask must be 0");
  }
  for (const int32_t token : batch.tokens)
    if (token < 0 || token >= vocab)
      refuse("token id " + std::to_string(token) + " lies outside the vocabulary of " +
             std::to_string(vocab));
  for (const int32_t position : batch.positions)
    if (position < 0) refuse("positions must not be negative");
  for (const float temperature : batch.temperature)
    if (!(temperature > 0)) refuse("temperatures must be positive");
  if (!batch.temperature.empty() && batch.temperature.size() + 1 != batch.cu_seqlens.size())
    refuse("temperature must have one value per sequence");
}

}  // namespace

Batch read_batch(const verlc_batch& batch, int64_t vocab) {
  if (batch.num_extra != 0) throw plugin::Failure(VERLC_E_UNSUPPORTED, "this engine takes no extra inputs");
  Batch result;
  result.tokens = required<int32_t>(batch.tokens, "tokens");
  result.positions = required<int32_t>(batch.positions, "positions");
  result.cu_seqlens = required<int32_t>(batch.cu_seqlens, "cu_seqlens");
  result.mask = required<uint8_t>(batch.loss_mask, "loss_mask");
  if (batch.temperature != nullptr) result.temperature = required<float>(batch.temperature, "temperature");
  result.max_sequences = batch.micro_batch_sequences;
  result.max_tokens = batch.micro_batch_tokens;
  result.cancel_scope = batch.cancel_scope;
  check_sequences(result, vocab);
  return result;
}

}  // namespace verlc::fsdp
