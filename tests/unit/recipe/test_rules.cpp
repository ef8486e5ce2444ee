// Every cross-key rule with a case that breaks it and one next to it that does not.
#include <catch2/catch.hpp>

#include "unit/recipe/sample.hpp"

using namespace verlc;
using Keys = std::vector<std::string>;

namespace {

std::string fix_of(const Sample& sample, const std::vector<std::string>& sets) {
  const LoadedRecipe loaded = sample.load(Sample::text(), sets);
  return loaded.problems.size() == 1 ? loaded.problems[0].fix : "not one problem";
}

bool has_note(const LoadedRecipe& loaded, const std::string& key) {
  return std::any_of(loaded.notes.begin(), loaded.notes.end(),
                     [&](const std::string& note) { return note.starts_with(key + ":"); });
}

}  // namespace

TEST_CASE("batches divide over ranks, mini-batches and micro-batches") {
  const Sample s;
  CHECK(s.keys({}) == Keys{});
  CHECK(s.keys({"trainer.ranks=5", "rollout.n=4"}) == Keys{"data.train_batch_size"});
  CHECK(fix_of(s, {"trainer.ranks=3", "actor.ppo_mini_batch_size=16", "data.train_batch_size=48",
                   "rollout.n=4"}) == "actor.ppo_mini_batch_size = 15 or 18");
  CHECK(s.keys({"trainer.ranks=3", "rollout.n=6"}) == Keys{});
  CHECK(s.keys({"actor.ppo_mini_batch_size=12"}) == Keys{"actor.ppo_mini_batch_size"});
  CHECK(fix_of(s, {"actor.ppo_mini_batch_size=12"}) == "actor.ppo_mini_batch_size = 8 or 16");
  CHECK(fix_of(s, {"actor.ppo_mini_batch_size=64"}) == "actor.ppo_mini_batch_size = 32");
  CHECK(s.keys({"actor.ppo_mini_batch_size=8"}) == Keys{});
  CHECK(s.keys({"actor.ppo_micro_batch_size_per_gpu=3"}) == Keys{"actor.ppo_micro_batch_size_per_gpu"});
  CHECK(s.keys({"actor.ppo_micro_batch_size_per_gpu=4"}) == Keys{});
  CHECK(s.keys({"actor.ppo_micro_batch_size_per_gpu=4", "actor.use_dynamic_bsz=true"}) ==
        Keys{"actor.ppo_micro_batch_size_per_gpu"});
  CHECK(s.keys({"actor.use_dynamic_bsz=false"}) == Keys{"actor.use_dynamic_bsz"});
  CHECK(s.keys({"algorithm.name=sft", "trainer.ranks=3"}) == Keys{"data.train_batch_size"});
  CHECK(s.keys({"algorithm.name=sft", "actor.ppo_micro_batch_size_per_gpu=5"}) ==
        Keys{"actor.ppo_micro_batch_size_per_gpu"});
}

TEST_CASE("training samples from the whole distribution, in groups") {
  const Sample s;
  CHECK(s.keys({"rollout.top_k=50"}) == Keys{"rollout.top_k"});
  CHECK(s.keys({"rollout.top_p=0.9"}) == Keys{"rollout.top_p"});
  CHECK(s.keys({"rollout.min_p=0.1"}) == Keys{"rollout.min_p"});
  CHECK(s.keys({"rollout.repetition_penalty=1.1"}) == Keys{"rollout.repetition_penalty"});
  CHECK(s.keys({"rollout.val_kwargs.top_p=0.9", "rollout.val_kwargs.temperature=1"}) == Keys{});
  CHECK(s.keys({"rollout.n=1"}) == Keys{"rollout.n"});
  CHECK(s.keys({"rollout.n=2"}) == Keys{});
  CHECK(s.keys({"rollout.n=1", "algorithm.name=sft"}) == Keys{});
  CHECK(s.keys({"rollout.temperature=0"}) == Keys{"rollout.temperature"});
  CHECK(s.keys({"rollout.temperature=0.5"}) == Keys{});
  CHECK(s.keys({"rollout.val_kwargs.n=4"}) == Keys{"rollout.val_kwargs.n"});
  CHECK(s.keys({"rollout.val_kwargs.n=4", "rollout.val_kwargs.temperature=1"}) == Keys{});
}

TEST_CASE("lengths fit the model, the budgets and the cache") {
  const Sample s;
  CHECK(s.keys({"rollout.max_model_len=1023"}) == Keys{"rollout.max_model_len"});
  CHECK(s.keys({"rollout.max_model_len=1024"}) == Keys{});
  CHECK(s.keys({"rollout.max_model_len=4097"}) == Keys{"rollout.max_model_len"});
  CHECK(s.keys({"rollout.max_model_len=4096"}) == Keys{});
  CHECK(s.keys({"data.max_response_length=3585"}) == Keys{"data.max_response_length"});
  CHECK(s.keys({"data.max_response_length=3584"}) == Keys{});
  CHECK(s.keys({"rollout.val_kwargs.max_new_tokens=513"}) == Keys{"rollout.val_kwargs.max_new_tokens"});
  CHECK(s.keys({"actor.ppo_max_token_len_per_gpu=1023"}) == Keys{"actor.ppo_max_token_len_per_gpu"});
  CHECK(s.keys({"actor.ppo_max_token_len_per_gpu=1024"}) == Keys{});
  CHECK(s.keys({"ref.log_prob_max_token_len_per_gpu=1023"}) == Keys{"ref.log_prob_max_token_len_per_gpu"});
  CHECK(s.keys({"rollout.max_num_batched_tokens=255"}) == Keys{"rollout.max_num_batched_tokens"});
  CHECK(s.keys({"rollout.max_num_batched_tokens=256"}) == Keys{});
  CHECK(s.keys({"rollout.max_num_batched_tokens=256", "rollout.enable_chunked_prefill=false"}) ==
        Keys{"rollout.max_num_batched_tokens"});
  // 1024 tokens * 2 layers * 2 heads * 8 dimensions * (key and value) * 4 bytes
  CHECK(s.keys({"rollout.kv_cache_memory=262143"}) == Keys{"rollout.kv_cache_memory"});
  CHECK(s.keys({"rollout.kv_cache_memory=262144"}) == Keys{});
}

TEST_CASE("each policy loss says which keys it reads") {
  const Sample s;
  const auto with = [](const std::string& mode, std::vector<std::string> sets) {
    sets.push_back("actor.policy_loss.loss_mode=" + mode);
    return sets;
  };
  CHECK(s.keys(with("vanila", {})) == Keys{"actor.policy_loss.loss_mode"});
  for (const std::string mode : {"vanilla", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "cispo",
                                 "dppo_tv", "dppo_kl", "dro"})
    CHECK(s.keys(with(mode, {})) == Keys{});
  CHECK(has_note(s.load(Sample::text(), with("gpg", {"actor.clip_ratio=0.3"})), "actor.clip_ratio"));
  CHECK(!has_note(s.load(Sample::text(), with("cispo", {"actor.clip_ratio=0.3"})), "actor.clip_ratio"));
  CHECK(has_note(s.load(Sample::text(), {"actor.policy_loss.dro_beta=0.3"}), "actor.policy_loss.dro_beta"));
  // A loss that is defined with one aggregation.
  CHECK(s.load(Sample::text(), with("gspo", {})).recipe.actor.loss_agg_mode == "seq-mean-token-mean");
  CHECK(s.keys(with("gspo", {"actor.loss_agg_mode=token-mean"})) == Keys{"actor.loss_agg_mode"});
  CHECK(s.keys(with("gspo", {"actor.loss_agg_mode=seq-mean-token-mean"})) == Keys{});
  // The open lower side of cispo is a mistake elsewhere.
  CHECK(s.keys(with("cispo", {"actor.clip_ratio_low=10"})) == Keys{});
  CHECK(s.keys({"actor.clip_ratio_low=10"}) == Keys{"actor.clip_ratio_low"});
  // Losses with a gradient at advantage 0.
  CHECK(s.load(Sample::text(), with("dro", {})).recipe.algorithm.skip_zero_advantage_groups == false);
  CHECK(s.keys(with("dro", {"algorithm.skip_zero_advantage_groups=true"})) ==
        Keys{"algorithm.skip_zero_advantage_groups"});
}

TEST_CASE("each estimator says what it needs and reads") {
  const Sample s;
  const auto with = [](const std::string& name, std::vector<std::string> sets) {
    sets.push_back("algorithm.adv_estimator=" + name);
    return sets;
  };
  for (const std::string name :
       {"grpo", "grpo_passk", "rloo", "opo", "gpg", "reinforce_plus_plus", "reinforce_plus_plus_baseline"})
    CHECK(s.keys(with(name, {})) == Keys{});
  CHECK(s.keys(with("gae", {})) == Keys{"algorithm.adv_estimator"});
  CHECK(s.keys(with("rloo", {"rollout.n=1"})) == Keys{"rollout.n"});
  CHECK(s.keys(with("reinforce_plus_plus", {"rollout.n=1"})) == Keys{});
  CHECK(has_note(s.load(Sample::text(), with("rloo", {"algorithm.advantage_ddof=0"})),
                 "algorithm.advantage_ddof"));
  CHECK(has_note(s.load(Sample::text(), {"algorithm.gamma=0.9"}), "algorithm.gamma"));
  CHECK(!has_note(s.load(Sample::text(), with("reinforce_plus_plus", {"algorithm.gamma=0.9"})),
                  "algorithm.gamma"));
}

TEST_CASE("loss keys agree") {
  const Sample s;
  CHECK(s.keys({"actor.loss_scale_factor=10"}) == Keys{"actor.loss_scale_factor"});
  CHECK(s.keys({"actor.loss_scale_factor=10", "actor.loss_agg_mode=seq-mean-token-sum-norm"}) == Keys{});
  CHECK(s.load(Sample::text(), {"actor.loss_agg_mode=seq-mean-token-sum-norm"})
            .recipe.actor.loss_scale_factor == 512);
  CHECK(s.keys({"actor.clip_ratio_c=1.2"}) == Keys{"actor.clip_ratio_c"});
  CHECK(s.keys({"actor.clip_ratio_c=1.21"}) == Keys{});
  CHECK(s.keys({"algorithm.skip_zero_advantage_groups=true", "actor.use_kl_loss=true"}) ==
        Keys{"algorithm.skip_zero_advantage_groups"});
  CHECK(s.keys({"algorithm.skip_zero_advantage_groups=true", "actor.entropy_coeff=0.1"}) ==
        Keys{"algorithm.skip_zero_advantage_groups"});
  CHECK(s.keys({"algorithm.skip_zero_advantage_groups=true"}) == Keys{});
  const auto skips = [&](const std::vector<std::string>& sets) {
    return s.load(Sample::text(), sets).recipe.algorithm.skip_zero_advantage_groups;
  };
  CHECK(skips({}) == true);
  CHECK(skips({"actor.use_kl_loss=true"}) == false);
  CHECK(skips({"actor.use_kl_loss=true", "actor.kl_loss_coef=0"}) == true);
  CHECK(skips({"actor.entropy_coeff=0.1"}) == false);
  CHECK(skips({"algorithm.use_kl_in_reward=true"}) == true);
  CHECK(skips({"algorithm.skip_zero_advantage_groups=false"}) == false);
  const std::vector<std::string> adaptive = {"algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0",
                                             "algorithm.kl_ctrl.type=adaptive"};
  CHECK(s.keys(adaptive) == Keys{"algorithm.kl_ctrl.kl_coef"});
  CHECK(s.keys({adaptive[0], adaptive[1]}) == Keys{});
  CHECK(has_note(s.load(Sample::text(), {adaptive[0], adaptive[1]}), "algorithm.use_kl_in_reward"));
  CHECK(has_note(s.load(Sample::text(), {"actor.use_kl_loss=true", "actor.kl_loss_coef=0"}),
                 "actor.use_kl_loss"));
}

TEST_CASE("a reference is there only for a KL term with a coefficient above 0") {
  const Sample s;
  const auto needed = [&](const std::vector<std::string>& sets) {
    return s.load(Sample::text(), sets).recipe.needs_reference();
  };
  CHECK_FALSE(needed({}));
  CHECK_FALSE(needed({"actor.kl_loss_coef=1"}));
  CHECK(needed({"actor.use_kl_loss=true"}));
  CHECK_FALSE(needed({"actor.use_kl_loss=true", "actor.kl_loss_coef=0"}));
  CHECK(needed({"algorithm.use_kl_in_reward=true"}));
  CHECK_FALSE(needed({"algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0"}));
  CHECK(needed({"actor.use_kl_loss=true", "actor.kl_loss_coef=0", "algorithm.use_kl_in_reward=true"}));
  CHECK_FALSE(needed({"algorithm.name=sft", "actor.use_kl_loss=true"}));
}

TEST_CASE("the schedule fits the run") {
  const Sample s;
  CHECK(s.keys({"actor.optim.lr_warmup_steps=3", "actor.optim.lr_warmup_steps_ratio=0.1"}) ==
        Keys{"actor.optim.lr_warmup_steps_ratio"});
  CHECK(s.keys({"actor.optim.lr_warmup_steps=3"}) == Keys{});
  CHECK(s.keys({"actor.optim.lr_warmup_steps=21", "trainer.total_training_steps=10",
                "actor.ppo_mini_batch_size=16"}) == Keys{"actor.optim.lr_warmup_steps"});
  CHECK(s.keys({"actor.optim.lr_warmup_steps=20", "trainer.total_training_steps=10",
                "actor.ppo_mini_batch_size=16"}) == Keys{});
  CHECK(s.keys({"trainer.test_freq=5"}) == Keys{"trainer.test_freq"});
  CHECK(s.keys({"trainer.test_freq=5", "data.val_files=" + s.path("val.jsonl").string()}) == Keys{});
}

TEST_CASE("shard groups divide the ranks") {
  const Sample s;
  for (const std::string section : {"actor.fsdp_config", "ref.fsdp_config"}) {
    CHECK(s.keys({"trainer.ranks=4", section + ".sharding=hybrid"}) == Keys{section + ".fsdp_size"});
    CHECK(s.keys({"trainer.ranks=4", section + ".sharding=hybrid", section + ".fsdp_size=3"}) ==
          Keys{section + ".fsdp_size"});
    CHECK(s.keys({"trainer.ranks=4", section + ".sharding=hybrid", section + ".fsdp_size=2"}) == Keys{});
    CHECK(s.keys({"trainer.ranks=4", section + ".fsdp_size=2"}) == Keys{section + ".fsdp_size"});
    CHECK(has_note(s.load(Sample::text(), {section + ".param_offload=true"}), section + ".param_offload"));
    CHECK(has_note(s.load(Sample::text(), {section + ".optimizer_offload=true"}),
                   section + ".optimizer_offload"));
  }
}

TEST_CASE("named files exist") {
  const Sample s;
  CHECK(s.keys({"data.train_files=/none.jsonl"}) == Keys{"data.train_files"});
  CHECK(s.keys({"data.val_files=/none.jsonl"}) == Keys{"data.val_files"});
  CHECK(s.keys({"model.tokenizer_path=/none"}) == Keys{"model.tokenizer_path"});
  CHECK(s.keys({"reward.plugin=/none.so"}) == Keys{"reward.plugin"});
  CHECK(s.keys({"reward.plugin=" + s.path("reward.so").string()}) == Keys{});
  CHECK(s.keys({"plugins.paths=/none"}) == Keys{"plugins.paths"});
  CHECK(s.keys({"trainer.resume_mode=resume_path"}) == Keys{"trainer.resume_mode"});
  CHECK(s.keys({"trainer.resume_mode=resume_path", "trainer.resume_from_path=/none"}) ==
        Keys{"trainer.resume_from_path"});
  CHECK(s.keys({"trainer.resume_mode=resume_path", "trainer.resume_from_path=" + s.path("model").string()}) ==
        Keys{});
  CHECK(s.keys({"trainer.resume_from_path=/tmp"}) == Keys{"trainer.resume_from_path"});
  s.write("train.jsonl", "");
  CHECK(s.keys({}) == Keys{"data.train_files"});
}

TEST_CASE("the model is one that we have, whole") {
  const auto keys_with = [](const std::string& config) {
    const Sample s;
    s.write("model/config.json", config);
    return s.keys({});
  };
  const std::string head = R"({"architectures":["LlamaForCausalLM"],"num_hidden_layers":2,"vocab_size":64,)";
  CHECK(keys_with(head + R"("hidden_size":32,"num_attention_heads":4})") == Keys{});
  CHECK(keys_with(head + R"("hidden_size":32,"num_attention_heads":4,"num_key_value_heads":3})") ==
        Keys{"model.path"});
  CHECK(keys_with(head + R"("hidden_size":12,"num_attention_heads":4})") == Keys{"model.path"});
  CHECK(keys_with(head + R"("num_attention_heads":4})") == Keys{"model.path"});
  CHECK(keys_with(
            R"({"architectures":["GPT2LMHeadModel"],"num_hidden_layers":2,"vocab_size":64,"hidden_size":32,)"
            R"("num_attention_heads":4})") == Keys{"model.path"});
  CHECK(keys_with("[") == Keys{"model.path"});
  CHECK(keys_with(head + R"("hidden_size":32,"num_attention_heads":4,"max_position_embeddings":512,)"
                         R"("rope_scaling":{"rope_type":"yarn","factor":2.0}})") == Keys{});
  CHECK(keys_with(head + R"("hidden_size":32,"num_attention_heads":4,"max_position_embeddings":512})") ==
        Keys{"data.max_response_length"});
  const Sample s;
  std::filesystem::remove(s.path("model/model.safetensors"));
  CHECK(s.keys({}) == Keys{"model.path"});
  CHECK(s.keys({"model.init=random"}) == Keys{});
  CHECK(s.keys({"model.path=/none"}).front() == "model.path");
}

TEST_CASE("names are known and the run's folder is one name") {
  const Sample s;
  CHECK(s.keys({"reward.name=gms8k"}) == Keys{"reward.name"});
  CHECK(fix_of(s, {"reward.name=gms8k"}) == "did you mean \"gsm8k\"?");
  CHECK(s.keys({"reward.name=gsm8k"}) == Keys{});
  CHECK(s.keys({"reward.name=gsm8k", "reward.plugin=my_id"}) == Keys{"reward.name"});
  CHECK(s.keys({"actor.strategy=fsdpp"}) == Keys{"actor.strategy"});
  CHECK(s.keys({"rollout.name=vllm"}) == Keys{"rollout.name"});
  CHECK(s.keys({"name=a/b"}) == Keys{"name"});
  CHECK(s.keys({"name=.."}) == Keys{"name"});
  CHECK(s.keys({"name=a-b_1.2"}) == Keys{});
  CHECK(s.keys({"trainer.logger=[\"file\", \"file\"]"}) == Keys{"trainer.logger"});
}

TEST_CASE("SFT says which keys it does not read") {
  const Sample s;
  const LoadedRecipe loaded = s.load(
      Sample::text(), {"algorithm.name=sft", "actor.clip_ratio=0.1", "rollout.n=4", "actor.optim.lr=1e-4"});
  CHECK(loaded.problems.empty());
  CHECK(has_note(loaded, "actor.clip_ratio"));
  CHECK(has_note(loaded, "rollout.n"));
  CHECK_FALSE(has_note(loaded, "actor.optim.lr"));
  CHECK_FALSE(has_note(loaded, "algorithm.name"));
}
