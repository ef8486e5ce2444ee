// Variables in force at a place of a running template.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/jinja_value.hpp"

namespace verlc::text::jinja {

/// A list of few names with a way to the scope around it.
class Scope {
 public:
  explicit Scope(std::shared_ptr<Scope> parent) : parent_(std::move(parent)) {}

  void set(std::string_view name, Value value) {
    for (auto& [own, held] : names_) {
      if (own == name) {
        held = std::move(value);
        return;
      }
    }
    names_.emplace_back(name, std::move(value));
  }

  [[nodiscard]] const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent_.get()) {
      for (const auto& [own, value] : scope->names_) {
        if (own == name) return &value;
      }
    }
    return nullptr;
  }

 private:
  std::shared_ptr<Scope> parent_;
  std::vector<std::pair<std::string, Value>> names_;
};

using ScopePtr = std::shared_ptr<Scope>;

}  // namespace verlc::text::jinja
