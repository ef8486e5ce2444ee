#include <algorithm>

#include "core/base/error.hpp"
#include "recipe/convert.hpp"
#include "recipe/reader.hpp"
#include "recipe/renames.hpp"

namespace verlc {
namespace {

constexpr int max_depth = 16;
constexpr int max_reported = 50;

class UnknownKeys {
 public:
  UnknownKeys(const RecipeIndex& index, Problems& problems) : index_(index), problems_(problems) {}

  void walk(const Layer& layer, const toml::table& table, const std::string& prefix, int depth) {
    for (const auto& [key, node] : table) {
      const std::string path = prefix + std::string(key.str());
      if (index_.field(path) != nullptr || (path == "base" && !layer.file.empty())) continue;
      const toml::table* inner = node.as_table();
      if (inner == nullptr && index_.is_section(path)) {
        problems_.add_at(layer.origin(node), path, describe_value(node),
                         "is a section and holds keys, not a value", "write a table [" + path + "]");
      } else if (inner == nullptr || depth >= max_depth || (inner->empty() && !index_.is_section(path))) {
        report(layer, node, path);
      } else {
        walk(layer, *inner, path + ".", depth + 1);
      }
    }
  }

 private:
  void report(const Layer& layer, const toml::node& node, const std::string& path) {
    if (++reported_ > max_reported) return;
    problems_.add_at(layer.origin(node), path, describe_value(node), "unknown key",
                     suggest_key(path, index_));
  }

  const RecipeIndex& index_;
  Problems& problems_;
  int reported_ = 0;
};

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}
std::string first_parts(const std::string& path) {
  return path.find('.') == std::string::npos ? "" : path.substr(0, path.rfind('.'));
}

// Keys of the same last name in other sections: those under the same first section come first.
std::vector<std::string> same_name_elsewhere(const std::string& path, const RecipeIndex& index) {
  std::vector<std::string> found;
  for (const FieldInfo& field : index.fields)
    if (last_part(field.path) == last_part(path)) found.push_back(field.path);
  const std::string top = path.substr(0, path.find('.')) + ".";
  std::stable_partition(found.begin(), found.end(),
                        [&](const std::string& key) { return key.starts_with(top); });
  if (!found.empty() && found.front().starts_with(top)) found.resize(1);
  if (found.size() > 2) found.resize(2);
  return found;
}

std::vector<std::string> near_keys(const std::string& path, const RecipeIndex& index) {
  std::vector<std::string> siblings, all, lasts;
  for (const FieldInfo& field : index.fields) {
    if (first_parts(field.path) == first_parts(path)) siblings.push_back(last_part(field.path));
    all.push_back(field.path);
    lasts.push_back(last_part(field.path));
  }
  std::vector<std::string> near = nearest_names(last_part(path), siblings, 2);
  const std::string parent = first_parts(path);
  for (std::string& name : near)
    if (!parent.empty()) name.insert(0, parent + ".");
  if (near.empty()) near = nearest_names(path, all, 2);
  if (near.empty()) {
    const std::vector<std::string> names = nearest_names(last_part(path), lasts, 1);
    if (!names.empty()) near = same_name_elsewhere(names.front(), index);
  }
  return near;
}

std::string joined(const std::vector<std::string>& keys, const char* separator) {
  std::string text;
  for (const std::string& key : keys) text += (text.empty() ? "" : separator) + key;
  return text;
}

}  // namespace

std::string suggest_key(const std::string& path, const RecipeIndex& index) {
  if (const std::optional<Rename> rename = verl_rename(path)) {
    const std::string& key = rename->key;
    if (key.empty()) return "remove it: " + rename->reason;
    if (index.field(key) != nullptr || index.is_section(key))
      return "it is " + key + " here" + (rename->reason.empty() ? "" : " (" + rename->reason + ")");
    return suggest_key(key, index);
  }
  std::vector<std::string> candidates = same_name_elsewhere(path, index);
  if (candidates.empty()) candidates = near_keys(path, index);
  if (!candidates.empty()) return "did you mean " + joined(candidates, " or ") + "?";
  std::vector<std::string> here;
  for (const FieldInfo& field : index.fields)
    if (first_parts(field.path) == first_parts(path)) here.push_back(last_part(field.path));
  if (!here.empty()) return "remove it; keys here are " + joined(here, ", ");
  std::vector<std::string> sections;
  for (const SectionInfo& section : index.sections) sections.push_back(section.path);
  return "remove it; sections are " + joined(sections, ", ");
}

void find_unknown_keys(const Document& document, const RecipeIndex& index, Problems& problems) {
  UnknownKeys unknown(index, problems);
  for (const Layer& layer : document.layers) unknown.walk(layer, layer.table, "", 0);
}

}  // namespace verlc
