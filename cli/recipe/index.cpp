#include "recipe/index.hpp"

#include <algorithm>
#include <variant>

#include "recipe/recipe.hpp"

namespace verlc {
namespace {

class Indexer : public FieldVisitor {
 public:
  explicit Indexer(RecipeIndex& index) : index_(index) {}

  void field(FieldRef value, const FieldSpec& spec) override {
    const bool text = std::holds_alternative<std::string*>(value) ||
                      std::holds_alternative<ByteSize*>(value) ||
                      std::holds_alternative<std::vector<std::string>*>(value);
    const bool has_default = !spec.required && spec.unset.empty();
    index_.fields.push_back({prefix_ + std::string(spec.key), spec, type_name(value),
                             has_default ? toml_text(value) : std::string(), text,
                             std::holds_alternative<FreeTable*>(value)});
  }

 protected:
  void enter(std::string_view name, std::string_view help) override {
    index_.sections.push_back({prefix_ + std::string(name), std::string(help)});
    prefix_ += std::string(name) + ".";
  }
  void leave(std::string_view name) override { prefix_.resize(prefix_.size() - name.size() - 1); }

 private:
  RecipeIndex& index_;
  std::string prefix_;
};

}  // namespace

const FieldInfo* RecipeIndex::field(std::string_view path) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& f) { return f.path == path; });
  return found == fields.end() ? nullptr : &*found;
}

bool RecipeIndex::is_section(std::string_view path) const {
  return std::any_of(sections.begin(), sections.end(), [&](const SectionInfo& s) { return s.path == path; });
}

RecipeIndex index_recipe() {
  RecipeIndex index;
  Recipe defaults;
  Indexer indexer(index);
  defaults.fields(indexer);
  return index;
}

}  // namespace verlc
