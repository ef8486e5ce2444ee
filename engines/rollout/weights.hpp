// All weights of the engine: loaded once, replaced by updates, dropped by sleep. An update is built beside
// the present weights and takes their place when it is complete, so that it can be given up; after
// sleep(PARAM) there is nothing beside it, and the weights are held once.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/models/model.hpp"
#include "rollout/held_weight.hpp"
#include "verlc/plugin.hpp"

namespace verlc::rollout {

class Weights {
 public:
  /// `model` must outlive this object; its slots are bound to what is held.
  Weights(const Context& context, Model& model, kernels::Precision precision);

  /// Reads the weights of a Hugging Face folder; Error(input) names every missing, extra and misshaped
  /// tensor.
  void load(const std::filesystem::path& folder);
  /// Random weights as the model's slots say.
  void load_random(uint64_t seed);
  void drop();
  [[nodiscard]] bool present() const { return present_; }

  /// Takes weights of an update, all or none. Throws Failure(VERLC_E_ARGUMENT) naming the one that is unknown
  /// (with the nearest name), came before, or has another shape; (VERLC_E_UNSUPPORTED) for shards, devices,
  /// element types.
  void stage(std::span<const verlc_named_tensor* const> weights);
  /// Names that an update still lacks, at most `most` of them, and how many there are.
  [[nodiscard]] std::vector<std::string> not_staged(size_t most, size_t& count) const;
  void commit_staged();
  void drop_staged() { staged_.clear(); }

  /// Digest of the weights held, as plugin.hpp defines it.
  [[nodiscard]] std::string digest() const;
  /// ids: [T] -> [T, hidden].
  [[nodiscard]] Tensor embed(std::span<const int32_t> ids) const;

 private:
  struct Slot {
    Parameter* parameter = nullptr;
    HeldForm form = HeldForm::panels;
    std::unique_ptr<HeldWeight> held;
  };
  using HeldByName = std::map<std::string, std::unique_ptr<HeldWeight>, std::less<>>;
  [[nodiscard]] std::unique_ptr<HeldWeight> make_held(const Slot& slot) const;
  [[nodiscard]] const Slot& slot_for(const verlc_named_tensor& weight, const std::string& name) const;
  void bind_all();

  Context context_;
  Model& model_;
  kernels::Precision precision_;
  bool present_ = false;
  std::map<std::string, Slot, std::less<>> slots_;
  HeldByName staged_;
};

}  // namespace verlc::rollout
