#include "recipe/schema.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "recipe/reader.hpp"

namespace verlc {
namespace {

bool selected(const std::string& path, const std::string& under) {
  return under.empty() || path == under || path.starts_with(under + ".");
}

std::string section_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

void check_selection(const RecipeIndex& index, const std::string& under) {
  if (under.empty() || index.is_section(under) || index.field(under) != nullptr) return;
  std::vector<std::string> names;
  for (const SectionInfo& section : index.sections) names.push_back(section.path);
  const std::vector<std::string> near = nearest_names(under, names, 1);
  fail_input({.what = "a recipe has no such section or key",
              .where = "verlc recipe schema",
              .value = under,
              .fix = near.empty() ? suggest_key(under, index) : "did you mean " + near.front() + "?"});
}

std::string default_text(const FieldInfo& field) {
  if (field.spec.required) return "required";
  if (!field.default_text.empty()) return "default " + field.default_text;
  return "not set: " + std::string(field.spec.unset);
}

std::string field_line(const FieldInfo& field) {
  const std::string range = field.spec.choices.empty() ? range_text(field.spec) : choices_text(field.spec);
  return fmt::format("  {} ({}{}{}; {})\n      {}\n", field.spec.key, field.type, range.empty() ? "" : ", ",
                     range, default_text(field), field.spec.help);
}

nlohmann::ordered_json field_json(const FieldInfo& field) {
  const FieldSpec& spec = field.spec;
  nlohmann::ordered_json json = {{"key", field.path}, {"type", field.type}, {"required", spec.required}};
  if (!field.default_text.empty()) json["default"] = field.default_text;
  if (!spec.unset.empty()) json["unset"] = spec.unset;
  if (!spec.choices.empty()) json["choices"] = spec.choices;
  if (spec.min) json[spec.above_min ? "above" : "min"] = *spec.min;
  if (spec.max) json[spec.below_max ? "below" : "max"] = *spec.max;
  if (spec.multiple_of > 0) json["multiple_of"] = spec.multiple_of;
  if (spec.length > 0) json["length"] = spec.length;
  json["help"] = spec.help;
  return json;
}

}  // namespace

std::string schema_text(const RecipeIndex& index, const std::string& under) {
  check_selection(index, under);
  std::string text;
  if (under.empty())
    text += "  base (string; not set: none)\n      another recipe whose keys hold unless given here\n";
  std::string section;
  for (const FieldInfo& field : index.fields) {
    if (!selected(field.path, under)) continue;
    if (section_of(field.path) != section) {
      section = section_of(field.path);
      const auto info = std::find_if(index.sections.begin(), index.sections.end(),
                                     [&](const SectionInfo& s) { return s.path == section; });
      text += fmt::format("{}[{}]  {}\n", text.empty() ? "" : "\n", section, info->help);
    }
    text += field_line(field);
  }
  return text;
}

std::string schema_json(const RecipeIndex& index, const std::string& under) {
  check_selection(index, under);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const FieldInfo& field : index.fields)
    if (selected(field.path, under)) list.push_back(field_json(field));
  return list.dump(1) + "\n";
}

}  // namespace verlc
