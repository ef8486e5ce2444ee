#include <catch2/catch.hpp>

#include "unit/recipe/sample.hpp"

using namespace verlc;

namespace {

const Problem* problem_of(const LoadedRecipe& loaded, const std::string& key) {
  for (const Problem& problem : loaded.problems)
    if (problem.key == key) return &problem;
  return nullptr;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a small recipe resolves its derived values and paths") {
  const Sample sample;
  const LoadedRecipe loaded =
      sample.load(Sample::text("actor.clip_ratio = 0.3\nactor.clip_ratio_high = 0.4\n"));
  for (const Problem& problem : loaded.problems) UNSCOPED_INFO(problem.where() + ": " + problem.rule);
  REQUIRE(loaded.problems.empty());
  const Recipe& r = loaded.recipe;
  CHECK(r.name == "r");
  CHECK(r.model.path == sample.path("model").string());
  CHECK(r.model.tokenizer_path == r.model.path);
  CHECK(r.data.train_files == std::vector<std::string>{sample.path("train.jsonl").string()});
  CHECK(r.data.seed == 1);
  CHECK(r.actor.ppo_mini_batch_size == 32);
  CHECK(r.actor.use_dynamic_bsz == true);
  CHECK(r.actor.clip_ratio_low == 0.3);
  CHECK(r.actor.clip_ratio_high == 0.4);
  CHECK(r.rollout.max_model_len == 1024);
  CHECK(r.rollout.val_kwargs.max_new_tokens == 512);
  CHECK(r.ref.log_prob_max_token_len_per_gpu == r.actor.ppo_max_token_len_per_gpu);
  CHECK_FALSE(r.needs_reference());
  // Savings that change no result are on.
  CHECK(r.actor.use_prefix_grouper);
  CHECK(r.actor.old_log_prob == "reuse");
  CHECK(r.algorithm.skip_zero_advantage_groups == true);
  CHECK(r.rollout.enable_prefix_caching);
  CHECK(r.actor.fsdp_config.forward_prefetch);
}

TEST_CASE("a dump loads to the same recipe") {
  const Sample sample;
  const LoadedRecipe first = sample.load(
      Sample::text("[reward]\nplugin = \"./reward.so\"\nconfig = { a = 1, b = [1.5, \"x\\n\\\"\"], \"odd "
                   "key\" = { c = true } }\n"
                   "[data.apply_chat_template_kwargs]\nenable_thinking = false\n"
                   "[rollout]\nkv_cache_memory = \"1GiB\"\n[actor.optim]\nlr = 1e-5\nbetas = [0.9, 0.95]\n"));
  for (const Problem& problem : first.problems) UNSCOPED_INFO(problem.where() + ": " + problem.rule);
  REQUIRE(first.problems.empty());
  CHECK(first.recipe.rollout.kv_cache_memory.bytes == int64_t{1} << 30);
  const std::string dump = dump_recipe(first.recipe);
  const LoadedRecipe second = sample.load(dump);
  REQUIRE(second.problems.empty());
  CHECK(second.recipe == first.recipe);
  CHECK(dump_recipe(second.recipe) == dump);
  CHECK(hash_recipe(second.recipe) == hash_recipe(first.recipe));
  CHECK(hash_recipe(sample.load(dump, {"seed=2"}).recipe) != hash_recipe(first.recipe));
}

TEST_CASE("overrides are typed by their field and fail like the file") {
  const Sample sample;
  const LoadedRecipe good = sample.load(
      Sample::text(), {"actor.optim.lr=3e-5", "name=run-1", "data.val_files=val.jsonl",
                       "trainer.logger=[\"console\"]", "reward.config.depth=3", "seed=7", "seed=8"});
  for (const Problem& problem : good.problems) UNSCOPED_INFO(problem.where() + ": " + problem.rule);
  CHECK(good.recipe.actor.optim.lr == 3e-5);
  CHECK(good.recipe.name == "run-1");
  CHECK(good.recipe.trainer.logger == std::vector<std::string>{"console"});
  CHECK(good.recipe.reward.config.json == nlohmann::json{{"depth", 3}});
  CHECK(good.recipe.seed == 8);

  const LoadedRecipe file = sample.load(Sample::text("rollout.n = \"x\"\n"));
  const LoadedRecipe line = sample.load(Sample::text(), {"rollout.n=x"});
  REQUIRE(file.problems.size() == 1);
  REQUIRE(line.problems.size() == 1);
  CHECK(file.problems[0].rule == line.problems[0].rule);
  CHECK(file.problems[0].fix == line.problems[0].fix);
  CHECK(line.problems[0].where() == "--set rollout.n");
  CHECK(sample.load(Sample::text(), {"nonsense"}).problems.size() == 1);
  CHECK(sample.load(Sample::text(), {"a..b=1"}).problems.size() == 1);
  CHECK(sample.load(Sample::text(), {"seed=1\nname=\"x\""}).problems.size() == 1);
}

TEST_CASE("unknown and misplaced keys name the right one") {
  const Sample sample;
  const auto fix = [&](const std::string& toml, const std::string& key) {
    const LoadedRecipe loaded = sample.load(Sample::text(toml));
    const Problem* problem = problem_of(loaded, key);
    REQUIRE(problem != nullptr);
    CHECK(problem->rule == "unknown key");
    CHECK(problem->origin.line == 4);
    return problem->fix;
  };
  CHECK(contains(fix("actor.lr = 1\n", "actor.lr"), "actor.optim.lr"));
  CHECK(contains(fix("actor.optim.lrr = 1\n", "actor.optim.lrr"), "actor.optim.lr"));
  CHECK(contains(fix("rolout.n = 1\n", "rolout.n"), "rollout.n"));
  CHECK(contains(fix("actor_rollout_ref.actor.ppo_epochs = 1\n", "actor_rollout_ref.actor.ppo_epochs"),
                 "actor.ppo_epochs"));
  CHECK(contains(fix("actor_rollout_ref.rollout.gpu_memory_utilization = 1\n",
                     "actor_rollout_ref.rollout.gpu_memory_utilization"),
                 "rollout.kv_cache_memory"));
  CHECK(contains(fix("trainer.experiment_name = \"x\"\n", "trainer.experiment_name"), "name"));
  CHECK(contains(fix("critic.optim.lr = 1\n", "critic.optim.lr"), "no critic"));
  CHECK(contains(fix("learning_rate_of_everything = 1\n", "learning_rate_of_everything"), "remove it"));
  CHECK(problem_of(sample.load("actor = 3\n"), "actor")->rule == "is a section and holds keys, not a value");
}

TEST_CASE("all problems are told at once, sorted by line") {
  const Sample sample;
  const LoadedRecipe loaded = sample.load(
      "[data]\ntrain_batch_size = 0\nshuffle = 1\n[rollout]\ntemperature = 0\nn = 1\n[actor]\nclip_ratio = "
      "\"a\"\n"
      "loss_agg_mode = \"token-sum\"\n[trainer]\nranks = 1.0\n");
  std::vector<std::string> keys;
  for (const Problem& problem : loaded.problems) keys.push_back(problem.key);
  CHECK(keys == std::vector<std::string>{"data.train_files", "model.path", "data.train_batch_size",
                                         "data.shuffle", "rollout.temperature", "rollout.n",
                                         "actor.clip_ratio", "actor.loss_agg_mode", "trainer.ranks"});
  const ErrorText text = problems_as_error("r.toml", loaded.problems);
  CHECK(contains(text.what, "9 problems"));
  for (const Problem& problem : loaded.problems) {
    CHECK_FALSE(problem.rule.empty());
    CHECK_FALSE(problem.fix.empty());
    CHECK(contains(text.what, problem.rule));
  }
}

TEST_CASE("a syntax fault names file, line and column") {
  const Sample sample;
  for (const std::string bad :
       {"a = ", "[model]\npath = \"a\"\npath = \"b\"\n", "[model]\n[model]\n", "\xff\xfe", "a=[1,"}) {
    const LoadedRecipe loaded = sample.load(bad);
    REQUIRE(loaded.problems.size() == 1);
    CHECK(contains(loaded.problems[0].where(), "r.toml:"));
  }
  CHECK(contains(sample.load("seed = 1\nname = \n").problems[0].where(), "r.toml:2:"));
}

TEST_CASE("a recipe inherits from one base, key by key") {
  const Sample sample;
  std::filesystem::create_directories(sample.path("sub"));
  sample.write("sub/rows.jsonl", "{}\n");
  sample.write("sub/base.toml",
               "[model]\npath = \"../model\"\n[data]\ntrain_files = \"rows.jsonl\"\ntrain_batch_size = 8\n");
  const LoadedRecipe loaded = sample.load("base = \"sub/base.toml\"\n[data]\ntrain_batch_size = 16\n");
  REQUIRE(loaded.problems.empty());
  CHECK(loaded.recipe.data.train_batch_size == 16);
  CHECK(loaded.recipe.data.train_files[0] == sample.path("sub/rows.jsonl").string());
  CHECK(loaded.recipe.model.path == sample.path("model").string());

  sample.write("a.toml", "base = \"b.toml\"\n");
  sample.write("b.toml", "base = \"a.toml\"\n");
  CHECK(problem_of(sample.load("base = \"a.toml\"\n"), "base") != nullptr);
  CHECK(contains(problem_of(sample.load("base = \"none.toml\"\n"), "base")->rule, "does not exist"));
  CHECK(problem_of(sample.load("base = 3\n"), "base") != nullptr);
  CHECK(sample.load(Sample::text(), {"base=a.toml"}).problems.size() == 1);
}

TEST_CASE("sizes and nesting are bounded before parsing") {
  const Sample sample;
  std::string deep = "a";
  for (int i = 0; i < 100000; ++i) deep += ".a";
  CHECK(sample.load(deep + " = 1\n").problems.size() == 1);
  CHECK(sample.load(std::string(2 << 20, ' ')).problems.size() == 1);
  CHECK(sample.load(Sample::text(), {"reward.config.x=" + deep}).problems.empty());
  CHECK(sample.load(Sample::text("reward.config = {a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s = 1}\n"))
            .problems.size() == 1);
}
