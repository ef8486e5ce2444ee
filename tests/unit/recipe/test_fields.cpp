// Every field of the schema: choices, ranges, types.
#include <catch2/catch.hpp>

#include "recipe/index.hpp"
#include "recipe/schema.hpp"
#include "unit/recipe/sample.hpp"

using namespace verlc;

namespace {

// Only syntax, type and range: rules over several keys are tested on their own.
LoadedRecipe read(const std::string& key, const std::string& value) {
  LoadOptions options;
  options.check_files = false;
  options.overrides = {key + "=" + value};
  return inspect_recipe_text("model.path = \"m\"\ndata.train_files = \"t\"\n", "r.toml", options);
}

std::string number(double value, const FieldInfo& field) {
  return field.type == "number" || field.type == "list of numbers"
             ? std::to_string(value)
             : std::to_string(static_cast<int64_t>(value));
}

}  // namespace

TEST_CASE("every enumerated value is accepted and a foreign one names all of them") {
  int num_choices = 0;
  for (const FieldInfo& field : index_recipe().fields) {
    if (field.spec.choices.empty()) continue;
    for (const std::string_view choice : field.spec.choices) {
      INFO(field.path << " = " << choice);
      CHECK(read(field.path, std::string(choice)).problems.empty());
      ++num_choices;
    }
    const LoadedRecipe loaded = read(field.path, field.type == "integer" ? "77" : "none such");
    REQUIRE(loaded.problems.size() == 1);
    for (const std::string_view choice : field.spec.choices)
      CHECK(loaded.problems[0].rule.find(choice) != std::string::npos);
  }
  CHECK(num_choices >= 40);
}

TEST_CASE("every range refuses what lies outside and every type what is of another") {
  for (const FieldInfo& field : index_recipe().fields) {
    INFO(field.path);
    const bool numeric = field.type == "integer" || field.type == "number";
    if (numeric && field.spec.min)
      CHECK(
          read(field.path, number(*field.spec.min - (field.spec.above_min ? 0 : 1), field)).problems.size() ==
          1);
    if (numeric && field.spec.max)
      CHECK(
          read(field.path, number(*field.spec.max + (field.spec.below_max ? 0 : 1), field)).problems.size() ==
          1);
    if (field.type != "string" && field.type != "string or list of strings")
      CHECK(read(field.path, "1979-05-27").problems.size() == 1);
    if (field.type == "number") {
      CHECK(read(field.path, "nan").problems.size() == 1);
      CHECK(read(field.path, "inf").problems.size() == 1);
    }
    if (field.type == "string or list of strings") CHECK(read(field.path, "[1]").problems.size() == 1);
  }
  CHECK(read("rollout.block_size", "24").problems.size() == 1);
  CHECK(read("rollout.block_size", "24").problems[0].fix == "16 or 32");
  CHECK(read("actor.optim.betas", "[0.9]").problems.size() == 1);
  CHECK(read("actor.optim.betas", "[0.9, 1.0]").problems.size() == 1);
  CHECK(read("data.apply_chat_template_kwargs", "{a = [1]}").problems.size() == 1);
}

TEST_CASE("defaults are legal and every key is explained") {
  const RecipeIndex index = index_recipe();
  CHECK(index.fields.size() > 90);
  for (const FieldInfo& field : index.fields) {
    INFO(field.path);
    CHECK_FALSE(field.spec.help.empty());
    if (!field.default_text.empty() && field.type != "table")
      CHECK(read(field.path, field.default_text).problems.empty());
  }
  const std::string text = schema_text(index, "");
  const nlohmann::json json = nlohmann::json::parse(schema_json(index, ""));
  CHECK(json.size() == index.fields.size());
  for (const FieldInfo& field : index.fields)
    CHECK(text.find(std::string(field.spec.key) + " (") != std::string::npos);
  CHECK(schema_text(index, "actor.optim.lr").find("[actor.optim]") == 0);
  CHECK_THROWS_AS(schema_text(index, "actor.optm"), Error);
}

TEST_CASE("byte sizes are read exactly") {
  const auto bytes = [](const std::string& text) {
    return read("rollout.kv_cache_memory", text).recipe.rollout.kv_cache_memory.bytes;
  };
  CHECK(bytes("512MiB") == 512 << 20);
  CHECK(bytes("\"2 GB\"") == 2000000000);
  CHECK(bytes("4096") == 4096);
  for (const std::string bad : {"MiB", "-1", "1.5GiB", "99999999999999999999", "9999999999TiB", "1XB"})
    CHECK(read("rollout.kv_cache_memory", bad).problems.size() == 1);
}
