#include "data/row_sampler.hpp"

#include <limits>
#include <numeric>

#include "core/base/check.hpp"
#include "core/base/error.hpp"
#include "core/base/rng.hpp"

namespace verlc {
namespace {

uint64_t state_number(const nlohmann::json& state, const char* key) {
  const auto found = state.is_object() ? state.find(key) : state.end();
  if (found == state.end() || !found->is_number_unsigned())
    fail_input({.what = std::string("the data position holds no valid ") + key,
                .where = "checkpoint",
                .value = state.dump(),
                .fix = "resume from another checkpoint"});
  return found->get<uint64_t>();
}

[[noreturn]] void fail_changed(const char* what, const std::string& then, const std::string& now) {
  fail_input(
      {.what = std::string("the checkpoint was taken with another ") + what + ", its data order cannot go on",
       .where = "checkpoint",
       .value = "then " + then + ", now " + now,
       .fix = "restore it, or start a new run from the exported weights"});
}

}  // namespace

RowSampler::RowSampler(RowSamplerConfig config) : config_(std::move(config)) {
  check(config_.batch_size > 0, "a batch holds rows");
  if (config_.rows < config_.batch_size)
    fail_input(
        {.what = "the training files hold fewer rows than one batch",
         .where = "data.train_batch_size",
         .value = std::to_string(config_.batch_size) + " with " + std::to_string(config_.rows) + " rows",
         .fix = "set it to " + std::to_string(config_.rows) + " or less"});
  check(config_.rows <= std::numeric_limits<uint32_t>::max(), "rows are numbered by 32 bits");
  total_steps_ = config_.total_steps.value_or(config_.epochs * steps_per_epoch());
  order_epoch();
}

void RowSampler::order_epoch() {
  order_.resize(config_.rows);
  std::iota(order_.begin(), order_.end(), 0U);
  if (!config_.shuffle) return;
  RandomStream stream(config_.seed, Purpose::shuffle, epoch_);
  shuffle(order_, stream);
}

std::vector<uint32_t> RowSampler::next() {
  check(!complete(), "a complete sampler is not asked for rows");
  if (position_ + config_.batch_size > config_.rows) {
    ++epoch_;
    position_ = 0;
    order_epoch();
  }
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(position_);
  position_ += config_.batch_size;
  return {first, first + static_cast<std::ptrdiff_t>(config_.batch_size)};
}

uint64_t RowSampler::steps_done() const {
  return epoch_ * steps_per_epoch() + position_ / config_.batch_size;
}

nlohmann::json RowSampler::state() const {
  return {{"epoch", epoch_},         {"position", position_},
          {"rows", config_.rows},    {"batch_size", config_.batch_size},
          {"seed", config_.seed},    {"shuffle", config_.shuffle},
          {"digest", config_.digest}};
}

void RowSampler::restore(const nlohmann::json& state) {
  const uint64_t epoch = state_number(state, "epoch"), position = state_number(state, "position");
  const uint64_t rows = state_number(state, "rows"), batch = state_number(state, "batch_size");
  const uint64_t seed = state_number(state, "seed");
  const std::string digest = state.contains("digest") && state["digest"].is_string() ? state["digest"] : "";
  const bool shuffled = state.contains("shuffle") && state["shuffle"] == true;
  if (digest != config_.digest) fail_changed("content of data.train_files", digest, config_.digest);
  if (rows != config_.rows)
    fail_changed("number of rows", std::to_string(rows), std::to_string(config_.rows));
  if (batch != config_.batch_size)
    fail_changed("data.train_batch_size", std::to_string(batch), std::to_string(config_.batch_size));
  if (seed != config_.seed) fail_changed("data.seed", std::to_string(seed), std::to_string(config_.seed));
  if (shuffled != config_.shuffle)
    fail_changed("data.shuffle", shuffled ? "true" : "false", config_.shuffle ? "true" : "false");
  constexpr uint64_t kMostEpochs = uint64_t{1} << 32;
  if (position > rows || position % batch != 0 || epoch > kMostEpochs)
    fail_input({.what = "the data position lies outside of an epoch",
                .where = "checkpoint",
                .value = state.dump(),
                .fix = "resume from another checkpoint"});
  epoch_ = epoch;
  position_ = position;
  order_epoch();
}

}  // namespace verlc
