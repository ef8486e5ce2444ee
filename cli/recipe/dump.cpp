#include <fmt/format.h>

#include "recipe/index.hpp"
#include "recipe/recipe.hpp"

namespace verlc {
namespace {

// The shortest text that reads back as the same double, always a TOML float.
std::string toml_number(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string toml_key(const std::string& key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-") == std::string::npos;
  return bare ? key : toml_string(key);
}

std::string toml_json(const nlohmann::json& json) {
  if (json.is_object()) {
    std::string text;
    for (const auto& [key, value] : json.items())
      text += (text.empty() ? " " : ", ") + toml_key(key) + " = " + toml_json(value);
    return text.empty() ? "{}" : "{" + text + " }";
  }
  if (json.is_array()) {
    std::string text;
    for (const nlohmann::json& value : json) text += (text.empty() ? "" : ", ") + toml_json(value);
    return "[" + text + "]";
  }
  if (json.is_string()) return toml_string(json.get_ref<const std::string&>());
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  if (json.is_number_float()) return toml_number(json.get<double>());
  return fmt::format("{}", json.get<int64_t>());
}

struct ToToml {
  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const int64_t* v) const { return fmt::format("{}", *v); }
  std::string operator()(const double* v) const { return toml_number(*v); }
  std::string operator()(const std::string* v) const { return toml_string(*v); }
  std::string operator()(const ByteSize* v) const { return fmt::format("{}", v->bytes); }
  std::string operator()(const FreeTable* v) const { return toml_json(v->json); }
  template <class T>
  std::string operator()(const std::optional<T>* v) const {
    return *v ? (*this)(&**v) : std::string();
  }
  template <class T>
  std::string operator()(const std::vector<T>* v) const {
    std::string text;
    for (const T& item : *v) text += (text.empty() ? "" : ", ") + (*this)(&item);
    return "[" + text + "]";
  }
};

class Dumper : public FieldVisitor {
 public:
  void field(FieldRef value, const FieldSpec& spec) override {
    const std::string toml = toml_text(value);
    if (toml.empty()) {
      text += fmt::format("# {} is not set: {}\n", spec.key, spec.unset);
    } else {
      text += fmt::format("{} = {}\n", spec.key, toml);
    }
  }

  std::string text;

 protected:
  void enter(std::string_view name, std::string_view) override {
    prefix_ += std::string(prefix_.empty() ? "" : ".") + std::string(name);
    text += "\n[" + prefix_ + "]\n";
  }
  void leave(std::string_view name) override {
    prefix_.resize(prefix_.size() > name.size() ? prefix_.size() - name.size() - 1 : 0);
  }

 private:
  std::string prefix_;
};

}  // namespace

std::string toml_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '\t') {
      quoted += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\u{:04X}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string toml_text(const FieldRef& value) {
  return std::visit([](auto* pointer) { return ToToml{}(pointer); }, value);
}

std::string dump_recipe(const Recipe& recipe) {
  Recipe copy = recipe;  // the visitor takes non-const fields
  Dumper dumper;
  copy.fields(dumper);
  return dumper.text;
}

}  // namespace verlc
