#include "core/text/eos.hpp"

#include <set>

#include "core/base/file.hpp"
#include "core/text/json_field.hpp"

namespace verlc::text {
namespace {

void collect_ids(const JsonField& parent, std::set<int32_t>& ids) {
  if (!parent.has("eos_token_id")) return;
  const JsonField field = parent.at("eos_token_id");
  if (!field.value->is_array()) {
    ids.insert(static_cast<int32_t>(field.integer(0, INT32_MAX)));
    return;
  }
  for (size_t i = 0; i < field.size(); ++i) {
    ids.insert(static_cast<int32_t>(field.at(i).integer(0, INT32_MAX)));
  }
}

void collect_token(const JsonField& field, const Tokenizer& tokenizer, std::set<int32_t>& ids) {
  const std::string token = field.value->is_object() ? field.at("content").string() : field.string();
  const int32_t id = tokenizer.token_to_id(token);
  if (id < 0) field.broken("this eos token is not in the tokenizer");
  ids.insert(id);
}

}  // namespace

std::vector<int32_t> read_stop_ids(const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  std::set<int32_t> ids;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json"}) {
    const auto path = folder / name;
    if (!std::filesystem::exists(path)) continue;
    const Json tree = parse_json(read_file(path), path.string());
    const JsonField root{&tree, path.string()};
    collect_ids(root, ids);
    if (root.has("text_config")) collect_ids(root.at("text_config"), ids);
    if (!root.has("eos_token")) continue;
    const JsonField field = root.at("eos_token");
    if (!field.value->is_array()) {
      collect_token(field, tokenizer, ids);
      continue;
    }
    for (size_t i = 0; i < field.size(); ++i) collect_token(field.at(i), tokenizer, ids);
  }
  return {ids.begin(), ids.end()};
}

}  // namespace verlc::text
