#include "recipe/reader.hpp"

#include "algorithms/policy_loss.hpp"
#include "recipe/convert.hpp"

namespace verlc {
namespace {

std::string resolved(const std::string& text, PathKind kind, const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const bool is_path =
      kind != PathKind::none &&
      (kind != PathKind::plugin || text.find('/') != std::string::npos || text.ends_with(".so"));
  if (!is_path || text.empty()) return text;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const fs::path beside_recipe = (here / file).parent_path() / text;
  const fs::path beside_user = here / text;
  if (kind == PathKind::output || file.empty()) return beside_user.lexically_normal().string();
  const bool only_here = !fs::exists(beside_recipe, error) && fs::exists(beside_user, error);
  return (only_here ? beside_user : beside_recipe).lexically_normal().string();
}

class Reader : public FieldVisitor {
 public:
  Reader(const Document& document, Problems& problems) : document_(document), problems_(problems) {}

  void field(FieldRef value, const FieldSpec& spec) override {
    const std::string path = prefix_ + std::string(spec.key);
    const Layer* source = nullptr;
    for (const Layer& layer : document_.layers) {
      const toml::node* node = layer.find(path);
      if (node == nullptr) continue;
      source = &layer;
      problems_.set_origin(path, layer.origin(*node));
      if (std::holds_alternative<FreeTable*>(value)) convert(*node, path, spec, value);
    }
    if (source == nullptr && spec.required)
      problems_.add(path, "", "is required: " + std::string(spec.help),
                    "add it to the recipe or give --set " + path + "=...");
    if (source != nullptr && !std::holds_alternative<FreeTable*>(value))
      convert(*source->find(path), path, spec, value);
    resolve(value, spec.path, source == nullptr ? std::filesystem::path() : source->file);
  }

 protected:
  void enter(std::string_view name, std::string_view) override { prefix_ += std::string(name) + "."; }
  void leave(std::string_view name) override { prefix_.resize(prefix_.size() - name.size() - 1); }

 private:
  void convert(const toml::node& node, const std::string& path, const FieldSpec& spec, FieldRef value) {
    const ValueFault fault = convert_value(node, spec, value);
    if (!fault.rule.empty()) problems_.add(path, describe_value(node), fault.rule, fault.fix);
  }

  static void resolve(FieldRef value, PathKind kind, const std::filesystem::path& file) {
    if (auto* text = std::get_if<std::string*>(&value)) **text = resolved(**text, kind, file);
    if (auto* list = std::get_if<std::vector<std::string>*>(&value))
      for (std::string& text : **list) text = resolved(text, kind, file);
  }

  const Document& document_;
  Problems& problems_;
  std::string prefix_;
};

}  // namespace

void read_fields(const Document& document, Recipe& recipe, Problems& problems) {
  Reader reader(document, problems);
  recipe.fields(reader);
}

void finish_recipe(const std::filesystem::path& path, const Problems& problems, Recipe& recipe) {
  if (recipe.name.empty()) recipe.name = path.stem().string();
  if (recipe.model.tokenizer_path.empty()) recipe.model.tokenizer_path = recipe.model.path;
  DataSection& data = recipe.data;
  if (!data.seed) data.seed = recipe.seed;
  ActorSection& actor = recipe.actor;
  if (actor.ppo_mini_batch_size == 0) actor.ppo_mini_batch_size = data.train_batch_size;
  if (!actor.use_dynamic_bsz) actor.use_dynamic_bsz = !actor.ppo_micro_batch_size_per_gpu.has_value();
  if (!actor.clip_ratio_low) actor.clip_ratio_low = actor.clip_ratio;
  if (!actor.clip_ratio_high) actor.clip_ratio_high = actor.clip_ratio;
  const PolicyLossRegistry losses = make_policy_loss_registry();
  const PolicyLoss* loss = losses.look_up(actor.policy_loss.loss_mode);
  if (loss != nullptr && loss->aggregation && !problems.is_given("actor.loss_agg_mode"))
    actor.loss_agg_mode = aggregation_name(*loss->aggregation);
  if (!actor.loss_scale_factor && actor.loss_agg_mode == "seq-mean-token-sum-norm")
    actor.loss_scale_factor = static_cast<double>(data.max_response_length);
  std::optional<bool>& skip = recipe.algorithm.skip_zero_advantage_groups;
  if (!skip)
    skip =
        !recipe.has_kl_loss() && actor.entropy_coeff == 0 && loss != nullptr && !loss->needs_zero_advantages;
  RefSection& ref = recipe.ref;
  if (!ref.log_prob_micro_batch_size_per_gpu)
    ref.log_prob_micro_batch_size_per_gpu = actor.ppo_micro_batch_size_per_gpu;
  if (!ref.log_prob_max_token_len_per_gpu)
    ref.log_prob_max_token_len_per_gpu = actor.ppo_max_token_len_per_gpu;
  RolloutSection& rollout = recipe.rollout;
  if (!rollout.max_model_len) rollout.max_model_len = data.max_prompt_length + data.max_response_length;
  if (!rollout.val_kwargs.max_new_tokens) rollout.val_kwargs.max_new_tokens = data.max_response_length;
}

}  // namespace verlc
