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

// Neighbours of a group: as many leading tokens, and the same ones at the same positions.
void check_neighbours(const Batch& batch, size_t s) {
  const std::span<const int32_t> before = batch.shared_prefix.subspan(2 * (s - 1), 2),
                                 hint = batch.shared_prefix.subspan(2 * s, 2);
  if (hint[0] < 0 || before[0] != hint[0]) return;
  const std::string who = "sequences " + std::to_string(s - 1) + " and " + std::to_string(s) + " of group " +
                          std::to_string(hint[0]);
  if (before[1] != hint[1])
    refuse(kSharedPrefix + std::string(": ") + who + " tell of " + std::to_string(before[1]) + " and " +
           std::to_string(hint[1]) + " shared tokens");
  const auto first = static_cast<size_t>(batch.cu_seqlens[s - 1]),
             second = static_cast<size_t>(batch.cu_seqlens[s]);
  for (size_t i = 0; i < static_cast<size_t>(hint[1]); ++i)
    if (batch.tokens[first + i] != batch.tokens[second + i] ||
        batch.positions[first + i] != batch.positions[second + i])
      refuse(kSharedPrefix + std::string(": ") + who + " differ at their token " + std::to_string(i));
}

void check_shared_prefix(const Batch& batch) {
  const size_t count = batch.cu_seqlens.size() - 1;
  if (batch.shared_prefix.size() != 2 * count)
    refuse(kSharedPrefix + std::string(" must have a group and a length for each sequence"));
  for (size_t s = 0; s < count; ++s) {
    const int32_t group = batch.shared_prefix[2 * s], length = batch.shared_prefix[2 * s + 1];
    if (group < -1 || length < 0 || length > batch.cu_seqlens[s + 1] - batch.cu_seqlens[s])
      refuse(kSharedPrefix + std::string(": sequence ") + std::to_string(s) + " has group " +
             std::to_string(group) + " and " + std::to_string(length) + " shared tokens of " +
             std::to_string(batch.cu_seqlens[s + 1] - batch.cu_seqlens[s]));
    if (s > 0) check_neighbours(batch, s);
  }
}

void read_extra(const verlc_batch& batch, Batch& result) {
  for (uint64_t i = 0; i < batch.num_extra; ++i) {
    const std::string_view name = plugin::to_view(batch.extra[i]->name);
    if (name != kSharedPrefix)
      throw plugin::Failure(VERLC_E_UNSUPPORTED,
                            "this engine takes no extra input \"" + std::string(name) + "\"");
    result.shared_prefix = plugin::elements<const int32_t>(batch.extra[i]->tensor->tensor, name);
    check_shared_prefix(result);
  }
}

}  // namespace

Batch read_batch(const verlc_batch& batch, int64_t vocab) {
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
  read_extra(batch, result);
  return result;
}

}  // namespace verlc::fsdp
