#include "recipe/document.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/file.hpp"

namespace verlc {
namespace {

constexpr size_t max_recipe_bytes = 1 << 20;
// Each dot may open one more table and tables are destroyed recursively, so their number bounds the stack.
constexpr int64_t max_dots = 4000;
constexpr size_t max_bases = 8;
constexpr size_t max_key_parts = 16;

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (true) {
    const size_t dot = path.find('.', begin);
    parts.emplace_back(path.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

// A huge file is not read at all; a page more than the limit is enough for parse() to refuse it.
std::string read_bounded(const std::filesystem::path& file) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > max_recipe_bytes) return std::string(max_recipe_bytes + 1, ' ');
  return read_file(file);
}

std::optional<toml::table> parse(std::string_view text, const std::filesystem::path& file,
                                 Problems& problems) {
  const bool large = text.size() > max_recipe_bytes;
  if (large || std::count(text.begin(), text.end(), '.') > max_dots) {
    problems.add_at({file.string(), 0}, "", large ? "a larger file" : "more dots",
                    fmt::format("a recipe has at most {} bytes and {} dots", max_recipe_bytes, max_dots),
                    "check that this file is a recipe");
    return std::nullopt;
  }
  toml::parse_result result = toml::parse(text);
  if (result) return std::move(result).table();
  const toml::parse_error& error = result.error();
  problems.add_at(
      {fmt::format("{}:{}:{}", file.string(), error.source().begin.line, error.source().begin.column), 0}, "",
      "", std::string(error.description()), "mend the TOML there");
  return std::nullopt;
}

// The file named by `base`, resolved like every other path of a recipe.
std::optional<std::filesystem::path> base_of(const Layer& layer, Problems& problems) {
  const toml::node* node = layer.table.get("base");
  if (node == nullptr) return std::nullopt;
  const Origin origin = layer.origin(*node);
  const std::optional<std::string> text = node->value_exact<std::string>();
  if (!text || text->empty() || text->find('\0') != std::string::npos) {
    problems.add_at(origin, "base", "", "must be the path of one other recipe", "base = \"other.toml\"");
    return std::nullopt;
  }
  std::error_code ignored;
  for (const std::filesystem::path& candidate :
       {layer.file.parent_path() / *text, std::filesystem::path(*text)})
    if (std::filesystem::is_regular_file(candidate, ignored)) return candidate;
  problems.add_at(origin, "base", *text, "the recipe that this one inherits from does not exist",
                  "give a path relative to " + layer.file.parent_path().string());
  return std::nullopt;
}

void read_bases(std::vector<Layer>& newest_first, Problems& problems) {
  std::error_code ignored;
  std::vector<std::filesystem::path> seen = {
      std::filesystem::weakly_canonical(newest_first.front().file, ignored)};
  while (const auto base = base_of(newest_first.back(), problems)) {
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(*base, ignored);
    if (seen.size() > max_bases || std::find(seen.begin(), seen.end(), canonical) != seen.end()) {
      const Layer& layer = newest_first.back();
      problems.add_at(layer.origin(*layer.table.get("base")), "base", base->string(),
                      fmt::format("recipes inherit at most {} deep and never from themselves", max_bases),
                      "remove this line");
      return;
    }
    seen.push_back(canonical);
    std::optional<toml::table> table = parse(read_bounded(*base), *base, problems);
    if (!table) return;
    newest_first.push_back({std::move(*table), *base});
  }
}

// Puts one --set into the layer's table, creating the tables on its way.
void insert_override(toml::table& root, const std::vector<std::string>& parts, toml::table holder) {
  toml::table* table = &root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (toml::node* next = table->get(parts[i]); next == nullptr || !next->is_table())
      table->insert_or_assign(parts[i], toml::table{});
    table = table->get(parts[i])->as_table();
  }
  holder.get("v")->visit([&](auto& node) { table->insert_or_assign(parts.back(), std::move(node)); });
}

toml::table override_value(const std::string& text, std::optional<bool> takes_text) {
  const bool quoted = !text.empty() && (text[0] == '"' || text[0] == '\'' || text[0] == '[');
  if (!takes_text.value_or(false) || quoted) {
    const bool bounded =
        text.size() <= max_recipe_bytes && std::count(text.begin(), text.end(), '.') <= max_dots;
    if (bounded) {
      toml::parse_result result = toml::parse("v = " + text);
      if (result && result.table().size() == 1) return std::move(result).table();
    }
  }
  toml::table holder;  // a wrong type is reported by the reader, like one in the file
  holder.insert_or_assign("v", text);
  return holder;
}

Layer read_overrides(const std::vector<std::string>& overrides, const TextFields& fields,
                     Problems& problems) {
  Layer layer;
  for (const std::string& text : overrides) {
    const size_t equal = text.find('=');
    const std::string key = text.substr(0, equal);
    const std::vector<std::string> parts = split_path(key);
    const bool whole =
        std::none_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
    if (equal == std::string::npos || !whole || parts.size() > max_key_parts) {
      problems.add_at({"--set", 0}, "", text, "must be section.key=value",
                      "for example --set actor.optim.lr=1e-6");
      continue;
    }
    const auto found = fields.find(key);
    insert_override(layer.table, parts,
                    override_value(text.substr(equal + 1),
                                   found == fields.end() ? std::nullopt : std::optional(found->second)));
  }
  return layer;
}

}  // namespace

const toml::node* Layer::find(std::string_view path) const {
  const toml::node* node = &table;
  for (const std::string& part : split_path(path)) {
    const toml::table* inner = node->as_table();
    node = inner == nullptr ? nullptr : inner->get(part);
    if (node == nullptr) return nullptr;
  }
  return node;
}

Origin Layer::origin(const toml::node& node) const {
  if (file.empty()) return {"--set", 0};
  return {file.string(), static_cast<int64_t>(node.source().begin.line)};
}

Document read_document_text(std::string_view text, const std::filesystem::path& path,
                            const std::vector<std::string>& overrides, const TextFields& fields,
                            Problems& problems) {
  std::vector<Layer> newest_first;
  if (std::optional<toml::table> table = parse(text, path, problems)) {
    newest_first.push_back({std::move(*table), path});
    read_bases(newest_first, problems);
  }
  Document document;
  for (auto layer = newest_first.rbegin(); layer != newest_first.rend(); ++layer)
    document.layers.push_back(std::move(*layer));
  document.layers.push_back(read_overrides(overrides, fields, problems));
  return document;
}

Document read_document(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                       const TextFields& fields, Problems& problems) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    fail_input(
        {.what = "the recipe does not exist", .where = path.string(), .value = "", .fix = "check its path"});
  return read_document_text(read_bounded(path), path, overrides, fields, problems);
}

}  // namespace verlc
