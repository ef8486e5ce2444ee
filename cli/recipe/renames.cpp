#include "recipe/renames.hpp"

namespace verlc {
namespace {

struct Entry {
  std::string_view verl;  // a trailing '.' stands for the whole table
  std::string_view key;
  std::string_view reason;
};

constexpr Entry entries[] = {
    {"actor.grad_clip", "actor.optim.clip_grad", ""},
    {"actor.ppo_micro_batch_size", "actor.ppo_micro_batch_size_per_gpu", "it counts per rank"},
    {"actor.optim.warmup_style", "actor.optim.lr_scheduler_type", ""},
    {"actor.optim.total_training_steps", "trainer.total_training_steps", "the schedule spans the whole run"},
    {"actor.checkpoint.save_contents", "", "a checkpoint always holds the whole state"},
    {"ref.log_prob_micro_batch_size", "ref.log_prob_micro_batch_size_per_gpu", "it counts per rank"},
    {"ref.log_prob_use_dynamic_bsz", "actor.use_dynamic_bsz", "both cut micro-batches alike"},
    {"rollout.gpu_memory_utilization", "rollout.kv_cache_memory", "in bytes"},
    {"rollout.tensor_model_parallel_size", "", "a rollout engine spans one rank"},
    {"rollout.data_parallel_size", "trainer.ranks", ""},
    {"rollout.prompt_length", "data.max_prompt_length", ""},
    {"rollout.response_length", "data.max_response_length", ""},
    {"rollout.do_sample", "rollout.temperature", "greedy is temperature 0, in validation only"},
    {"rollout.val_kwargs.do_sample", "rollout.val_kwargs.temperature", "greedy is temperature 0"},
    {"rollout.calculate_log_probs", "actor.old_log_prob", "sampled log-probs are always kept"},
    {"rollout.mode", "", "there is one mode"},
    {"rollout.checkpoint_engine.update_weights_bucket_megabytes", "rollout.update_weights_bucket_megabytes",
     ""},
    {"model.use_remove_padding", "", "batches are always packed"},
    {"data.tokenizer", "model.tokenizer_path", ""},
    {"data.filter_overlong_prompts_workers", "", "filtering is not a bottleneck here"},
    {"data.reward_fn_key", "reward.name", "auto reads each row's data_source"},
    {"algorithm.gamma", "", "GRPO has no discount"},
    {"algorithm.lam", "", "GRPO has no lambda"},
    {"critic.", "", "GRPO and SFT have no critic"},
    {"reward_model.reward_manager", "reward.name", ""},
    {"reward_model.", "reward.name", "rewards come from scorers and plugins"},
    {"reward_manager.name", "reward.name", ""},
    {"custom_reward_function.path", "reward.plugin", "a shared object that exports reward/1"},
    {"custom_reward_function.", "reward.plugin", ""},
    {"trainer.experiment_name", "name", ""},
    {"trainer.project_name", "output_dir", "runs are told apart by folder"},
    {"trainer.default_local_dir", "output_dir", ""},
    {"trainer.n_gpus_per_node", "trainer.ranks", "ranks of the whole job"},
    {"trainer.nnodes", "trainer.ranks", "ranks of the whole job; hosts are the launcher's business"},
    {"trainer.nccl_timeout", "trainer.comm_timeout_s", ""},
    {"nccl_timeout", "trainer.comm_timeout_s", ""},
    {"trainer.rollout_data_dir", "trainer.rollout_data", "true writes into the run's folder"},
    {"trainer.max_actor_ckpt_to_keep", "actor.checkpoint.max_ckpt_to_keep", ""},
    {"trainer.device", "", "the engine chooses its device"},
    {"model.partial_pretrain", "model.path", ""},
    {"data.micro_batch_size_per_gpu", "actor.ppo_micro_batch_size_per_gpu", ""},
    {"data.max_length", "data.max_prompt_length", "prompt and response are bounded apart"},
};

}  // namespace

std::optional<Rename> verl_rename(std::string_view path) {
  constexpr std::string_view prefix = "actor_rollout_ref.";
  const bool prefixed = path.starts_with(prefix);
  const std::string_view rest = prefixed ? path.substr(prefix.size()) : path;
  for (const Entry& entry : entries)
    if (rest == entry.verl || (entry.verl.ends_with('.') && rest.starts_with(entry.verl)))
      return Rename{std::string(entry.key), std::string(entry.reason)};
  if (prefixed) return Rename{std::string(rest), ""};
  return std::nullopt;
}

}  // namespace verlc
