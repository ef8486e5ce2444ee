#include "pipeline/engines.hpp"

#include <nlohmann/json.hpp>

namespace verlc::pipeline {
namespace {

using Json = nlohmann::json;

Json sharding_json(const FsdpConfigSection& section) {
  return {{"sharding", section.sharding},
          {"fsdp_size", section.fsdp_size},
          {"reshard_after_forward", section.reshard_after_forward},
          {"forward_prefetch", section.forward_prefetch},
          {"dtype", section.dtype},
          {"pack_weights", section.pack_weights}};
}

}  // namespace

std::string actor_config(const Recipe& recipe) {
  Json config = sharding_json(recipe.actor.fsdp_config);
  config["model"] = recipe.model.path;
  config["init"] = recipe.model.init;
  config["seed"] = recipe.seed;
  config["gradient_checkpointing"] = recipe.model.enable_gradient_checkpointing;
  config["beta1"] = recipe.actor.optim.betas[0];
  config["beta2"] = recipe.actor.optim.betas[1];
  config["eps"] = recipe.actor.optim.eps;
  config["weight_decay"] = recipe.actor.optim.weight_decay;
  return config.dump();
}

std::string reference_config(const Recipe& recipe) {
  Json config = sharding_json(recipe.ref.fsdp_config);
  config["model"] = recipe.model.path;
  config["init"] = recipe.model.init;
  config["seed"] = recipe.seed;
  config["trainable"] = false;
  return config.dump();
}

std::string rollout_config(const Recipe& recipe) {
  const RolloutSection& rollout = recipe.rollout;
  return Json{{"model", recipe.model.path},
              {"load_format", "none"},
              {"dtype", rollout.dtype},
              {"block_size", rollout.block_size},
              {"max_num_seqs", rollout.max_num_seqs},
              {"max_num_batched_tokens", rollout.max_num_batched_tokens},
              {"max_model_len", rollout.max_model_len.value_or(0)},
              {"kv_cache_bytes", rollout.kv_cache_memory.bytes},
              {"enable_prefix_caching", rollout.enable_prefix_caching},
              {"enable_chunked_prefill", rollout.enable_chunked_prefill}}
      .dump();
}

std::string frozen_config(const std::string& model, const std::string& init) {
  return Json{{"model", model}, {"init", init}, {"trainable", false}, {"sharding", "none"}}.dump();
}

std::unique_ptr<TrainEngine> make_train_engine(Session& session, const std::string& name,
                                               const std::string& config) {
  return std::make_unique<TrainEngine>(session.load_plugin(name, VERLC_CAPABILITY_TRAIN), config,
                                       session.topology());
}

std::unique_ptr<RolloutEngine> make_rollout_engine(Session& session, const std::string& name,
                                                   const std::string& config) {
  return std::make_unique<RolloutEngine>(session.load_plugin(name, VERLC_CAPABILITY_ROLLOUT), config,
                                         session.topology());
}

}  // namespace verlc::pipeline
