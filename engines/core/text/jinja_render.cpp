#include "core/text/jinja_render.hpp"

#include <fmt/format.h>

#include <ctime>

#include "core/text/jinja_builtins.hpp"
#include "core/text/jinja_scope.hpp"

namespace verlc::text::jinja {
namespace {

constexpr int64_t kMostSteps = 20'000'000;
constexpr int kMostDepth = 1500;
constexpr int kMostMacros = 64;
constexpr int64_t kMostRange = 100'000;

/// How a statement leaves its body.
enum class Flow { on, stop, next };

class Renderer {
 public:
  Renderer(std::string_view name, int64_t now) : name_(name), now_(now) {}
  Renderer(const Renderer&) = delete;
  Renderer& operator=(const Renderer&) = delete;
  ~Renderer() {
    // A namespace may hold itself.
    for (const auto& names : namespaces_) {
      if (const auto alive = names.lock()) alive->items.clear();
    }
  }

  std::string run(const Body& body, std::vector<std::pair<std::string, Value>> variables) {
    const auto builtins = std::make_shared<Scope>(nullptr);
    add_builtins(*builtins);
    globals_ = std::make_shared<Scope>(builtins);
    for (auto& [name, value] : variables) globals_->set(name, std::move(value));
    exec(body, globals_);
    return std::move(out_);
  }

 private:
  class Deeper {
   public:
    Deeper(Renderer& renderer, int line) : renderer_(renderer) {
      if (++renderer_.depth_ > kMostDepth) renderer_.site(line).fail("the template nests too deep");
      if (++renderer_.steps_ > kMostSteps) renderer_.site(line).fail("the template takes too many steps");
    }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --renderer_.depth_; }

   private:
    Renderer& renderer_;
  };

  [[nodiscard]] Site site(int line) const { return {name_, line}; }

  void add_builtins(Scope& scope);
  void print(const std::string& text, int line);
  std::string printed(const Body& body, const ScopePtr& scope);

  Flow exec(const Body& body, const ScopePtr& scope);
  Flow exec(const Stmt& stmt, const ScopePtr& scope);
  Flow exec_branch(const Stmt& stmt, const ScopePtr& scope);
  Flow exec_loop(const Stmt& stmt, const ScopePtr& scope);
  void exec_set(const Stmt& stmt, const ScopePtr& scope);
  void exec_block_set(const Stmt& stmt, const ScopePtr& scope);
  void exec_macro(const Stmt& stmt, const ScopePtr& scope);
  Value call_macro(const Stmt& stmt, const ScopePtr& around, const Arguments& arguments, const Site& at);
  void assign(const Stmt& stmt, const Value& value, const ScopePtr& scope);
  std::vector<Value> loop_items(const Stmt& stmt, const ScopePtr& scope);
  Value loop_value(const std::vector<Value>& items, size_t index,
                   const std::shared_ptr<std::vector<Value>>& changed);

  Value eval(const Expr& expr, const ScopePtr& scope);
  Value eval_name(const Expr& expr, const ScopePtr& scope);
  Value eval_container(const Expr& expr, const ScopePtr& scope);
  Value eval_call(const Expr& expr, const ScopePtr& scope);
  Value eval_compare(const Expr& expr, const ScopePtr& scope);
  Value eval_slice(const Expr& expr, const ScopePtr& scope);
  Arguments eval_arguments(const Expr& expr, const ScopePtr& scope);

  std::string_view name_;
  int64_t now_;
  ScopePtr globals_;
  std::string out_;
  int64_t steps_ = 0;
  int depth_ = 0;
  int macros_ = 0;
  int loops_ = 0;
  std::vector<std::weak_ptr<Namespace>> namespaces_;
};

Value callable(std::string name, std::function<Value(const Arguments&, const Site&)> call) {
  return Value(Value::Storage(std::make_shared<const Callable>(Callable{std::move(name), std::move(call)})));
}

Value make_range(const Arguments& arguments, const Site& site) {
  int64_t start = 0;
  int64_t stop = int_argument(arguments, 0, "stop", 0, site);
  if (arguments.positional.size() > 1) {
    start = stop;
    stop = int_argument(arguments, 1, "stop", 0, site);
  }
  const int64_t step = int_argument(arguments, 2, "step", 1, site);
  if (step == 0) site.fail("range: the step is zero");
  std::vector<Value> items;
  for (int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (static_cast<int64_t>(items.size()) >= kMostRange) site.fail("range: over 100000 numbers");
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return Value::list(std::move(items));
}

Value make_dict(const Arguments& arguments, const Site& site) {
  std::vector<std::pair<Value, Value>> items;
  if (!arguments.positional.empty()) {
    if (arguments.positional[0].as_dict() == nullptr) site.fail("dict needs a mapping");
    items = arguments.positional[0].as_dict()->items;
  }
  for (const auto& [name, value] : arguments.named) items.emplace_back(Value(name), value);
  return Value::dict(std::move(items));
}

void Renderer::add_builtins(Scope& scope) {
  scope.set("range", callable("range", make_range));
  scope.set("dict", callable("dict", make_dict));
  scope.set("raise_exception",
            callable("raise_exception", [](const Arguments& arguments, const Site& at) -> Value {
              at.fail(arguments.positional.empty() ? "the template refuses" : arguments.positional[0].str());
            }));
  scope.set("namespace", callable("namespace", [this](const Arguments& arguments, const Site& at) {
              auto made = std::make_shared<Namespace>();
              const Value items = make_dict(arguments, at);
              for (const auto& [key, value] : items.as_dict()->items) made->set(key.str(), value);
              namespaces_.push_back(made);
              return Value(Value::Storage(std::move(made)));
            }));
  scope.set("strftime_now", callable("strftime_now", [this](const Arguments& arguments, const Site& at) {
              const std::string format = string_argument(arguments, 0, "format", "", at);
              const auto seconds = static_cast<std::time_t>(now_);
              std::tm parts{};
              localtime_r(&seconds, &parts);
              std::string text(256, '\0');
              text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
              return Value(std::move(text));
            }));
}

void Renderer::print(const std::string& text, int line) {
  if (out_.size() + text.size() > kMostSize) site(line).fail("the template prints too much");
  out_ += text;
}

std::string Renderer::printed(const Body& body, const ScopePtr& scope) {
  std::string outer = std::exchange(out_, {});
  exec(body, scope);
  return std::exchange(out_, std::move(outer));
}

Flow Renderer::exec(const Body& body, const ScopePtr& scope) {
  for (const auto& stmt : body) {
    const Flow flow = exec(*stmt, scope);
    if (flow != Flow::on) return flow;
  }
  return Flow::on;
}

Flow Renderer::exec(const Stmt& stmt, const ScopePtr& scope) {
  const Deeper deeper(*this, stmt.line);
  switch (stmt.kind) {
    case StmtKind::text:
      print(stmt.text, stmt.line);
      return Flow::on;
    case StmtKind::output:
      print(eval(*stmt.exprs[0], scope).str(), stmt.line);
      return Flow::on;
    case StmtKind::branch:
      return exec_branch(stmt, scope);
    case StmtKind::loop:
      return exec_loop(stmt, scope);
    case StmtKind::set:
      exec_set(stmt, scope);
      return Flow::on;
    case StmtKind::set_block:
      exec_block_set(stmt, scope);
      return Flow::on;
    case StmtKind::macro:
      exec_macro(stmt, scope);
      return Flow::on;
    case StmtKind::filter: {
      const auto inner = std::make_shared<Scope>(scope);
      inner->set(kBlockText, Value(printed(stmt.bodies[0], inner)));
      print(eval(*stmt.exprs[0], inner).str(), stmt.line);
      return Flow::on;
    }
    case StmtKind::with: {
      const auto inner = std::make_shared<Scope>(scope);
      for (size_t i = 0; i < stmt.names.size(); ++i) inner->set(stmt.names[i], eval(*stmt.exprs[i], scope));
      return exec(stmt.bodies[0], inner);
    }
    case StmtKind::scope:
      return exec(stmt.bodies[0], std::make_shared<Scope>(scope));
    case StmtKind::stop:
      return Flow::stop;
    case StmtKind::next:
      return Flow::next;
  }
  return Flow::on;
}

Flow Renderer::exec_branch(const Stmt& stmt, const ScopePtr& scope) {
  for (size_t i = 0; i < stmt.exprs.size(); ++i) {
    if (eval(*stmt.exprs[i], scope).truthy()) return exec(stmt.bodies[i], scope);
  }
  return stmt.bodies.size() > stmt.exprs.size() ? exec(stmt.bodies.back(), scope) : Flow::on;
}

void Renderer::assign(const Stmt& stmt, const Value& value, const ScopePtr& scope) {
  if (stmt.names.size() == 1) {
    scope->set(stmt.names[0], value);
    return;
  }
  const std::vector<Value> parts = iterate(value, site(stmt.line));
  if (parts.size() != stmt.names.size()) {
    site(stmt.line).fail(fmt::format("{} names for {} values", stmt.names.size(), parts.size()));
  }
  for (size_t i = 0; i < parts.size(); ++i) scope->set(stmt.names[i], parts[i]);
}

void Renderer::exec_set(const Stmt& stmt, const ScopePtr& scope) {
  Value value = eval(*stmt.exprs[0], scope);
  if (stmt.attribute.empty()) {
    assign(stmt, value, scope);
    return;
  }
  const Value* holder = scope->find(stmt.names[0]);
  Namespace* names = holder == nullptr ? nullptr : holder->as_namespace();
  if (names == nullptr) site(stmt.line).fail("only attributes of a namespace can be set", stmt.names[0]);
  names->set(stmt.attribute, std::move(value));
}

void Renderer::exec_block_set(const Stmt& stmt, const ScopePtr& scope) {
  const auto inner = std::make_shared<Scope>(scope);
  Value value(printed(stmt.bodies[0], inner));
  if (!stmt.exprs.empty()) {
    inner->set(kBlockText, std::move(value));
    value = eval(*stmt.exprs[0], inner);
  }
  if (stmt.attribute.empty()) {
    scope->set(stmt.names[0], std::move(value));
    return;
  }
  const Value* holder = scope->find(stmt.names[0]);
  Namespace* names = holder == nullptr ? nullptr : holder->as_namespace();
  if (names == nullptr) site(stmt.line).fail("only attributes of a namespace can be set", stmt.names[0]);
  names->set(stmt.attribute, std::move(value));
}

std::vector<Value> Renderer::loop_items(const Stmt& stmt, const ScopePtr& scope) {
  std::vector<Value> items = iterate(eval(*stmt.exprs[0], scope), site(stmt.exprs[0]->line));
  if (stmt.exprs.size() < 2) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const auto inner = std::make_shared<Scope>(scope);
    assign(stmt, item, inner);
    if (eval(*stmt.exprs[1], inner).truthy()) kept.push_back(std::move(item));
  }
  return kept;
}

Value Renderer::loop_value(const std::vector<Value>& items, size_t index,
                           const std::shared_ptr<std::vector<Value>>& changed) {
  const auto count = static_cast<int64_t>(items.size());
  const auto at = static_cast<int64_t>(index);
  const auto cycle = [index](const Arguments& arguments, const Site& where) {
    if (arguments.positional.empty()) where.fail("loop.cycle needs values");
    return arguments.positional[index % arguments.positional.size()];
  };
  const auto is_new = [changed](const Arguments& arguments, const Site&) {
    const bool same = changed->size() == arguments.positional.size() &&
                      std::equal(changed->begin(), changed->end(), arguments.positional.begin(), equals);
    *changed = arguments.positional;
    return Value(!same);
  };
  return Value::dict({
      {Value(std::string("index")), Value(at + 1)},
      {Value(std::string("index0")), Value(at)},
      {Value(std::string("revindex")), Value(count - at)},
      {Value(std::string("revindex0")), Value(count - at - 1)},
      {Value(std::string("first")), Value(index == 0)},
      {Value(std::string("last")), Value(index + 1 == items.size())},
      {Value(std::string("length")), Value(count)},
      {Value(std::string("depth")), Value(int64_t{loops_})},
      {Value(std::string("depth0")), Value(int64_t{loops_ - 1})},
      {Value(std::string("previtem")),
       index > 0 ? items[index - 1] : Value(Undefined{"there is no previous item"})},
      {Value(std::string("nextitem")),
       index + 1 < items.size() ? items[index + 1] : Value(Undefined{"there is no next item"})},
      {Value(std::string("cycle")), callable("cycle", cycle)},
      {Value(std::string("changed")), callable("changed", is_new)},
  });
}

Flow Renderer::exec_loop(const Stmt& stmt, const ScopePtr& scope) {
  const std::vector<Value> items = loop_items(stmt, scope);
  if (items.empty())
    return stmt.bodies.size() > 1 ? exec(stmt.bodies[1], std::make_shared<Scope>(scope)) : Flow::on;
  const auto changed = std::make_shared<std::vector<Value>>();
  ++loops_;
  for (size_t i = 0; i < items.size(); ++i) {
    const Deeper step(*this, stmt.line);
    const auto inner = std::make_shared<Scope>(scope);
    assign(stmt, items[i], inner);
    inner->set("loop", loop_value(items, i, changed));
    if (exec(stmt.bodies[0], inner) == Flow::stop) break;
  }
  --loops_;
  return Flow::on;
}

void Renderer::exec_macro(const Stmt& stmt, const ScopePtr& scope) {
  // A macro must not keep the scope alive that keeps the macro.
  std::weak_ptr<Scope> around = scope;
  scope->set(stmt.text,
             callable(stmt.text, [this, &stmt, around](const Arguments& arguments, const Site& at) {
               const ScopePtr held = around.lock();
               return call_macro(stmt, held ? held : globals_, arguments, at);
             }));
}

Value Renderer::call_macro(const Stmt& stmt, const ScopePtr& around, const Arguments& arguments,
                           const Site& at) {
  if (++macros_ > kMostMacros) at.fail("macros call each other too deep");
  if (arguments.positional.size() > stmt.names.size()) {
    at.fail(fmt::format("macro '{}' takes {} arguments at most", stmt.text, stmt.names.size()));
  }
  for (const auto& [name, value] : arguments.named) {
    if (std::find(stmt.names.begin(), stmt.names.end(), name) == stmt.names.end()) {
      at.fail(fmt::format("macro '{}' has no parameter '{}'", stmt.text, name));
    }
  }
  const auto inner = std::make_shared<Scope>(around);
  for (size_t i = 0; i < stmt.names.size(); ++i) {
    const Value* given = arguments.find(i, stmt.names[i]);
    if (given != nullptr) {
      inner->set(stmt.names[i], *given);
    } else {
      inner->set(stmt.names[i],
                 stmt.exprs[i] ? eval(*stmt.exprs[i], inner) : Value(Undefined{stmt.names[i]}));
    }
  }
  Value text(printed(stmt.bodies[0], inner));
  --macros_;
  return text;
}

Value Renderer::eval(const Expr& expr, const ScopePtr& scope) {
  const Deeper deeper(*this, expr.line);
  switch (expr.kind) {
    case ExprKind::constant:
      return expr.constant;
    case ExprKind::name:
      return eval_name(expr, scope);
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::dict:
      return eval_container(expr, scope);
    case ExprKind::attribute:
      return get_attribute(eval(*expr.args[0], scope), expr.name, site(expr.line));
    case ExprKind::item:
      return get_item(eval(*expr.args[0], scope), eval(*expr.args[1], scope), site(expr.line));
    case ExprKind::slice:
      return eval_slice(expr, scope);
    case ExprKind::call:
      return eval_call(expr, scope);
    case ExprKind::filter:
      return find_filter(expr.name)(eval(*expr.args[0], scope), eval_arguments(expr, scope), site(expr.line));
    case ExprKind::test:
      return Value(
          find_test(expr.name)(eval(*expr.args[0], scope), eval_arguments(expr, scope), site(expr.line)));
    case ExprKind::unary: {
      const Value value = eval(*expr.args[0], scope);
      return expr.name == "not" ? Value(!value.truthy()) : apply_sign(expr.name, value, site(expr.line));
    }
    case ExprKind::binary: {
      const Value left = eval(*expr.args[0], scope);
      return apply_binary(expr.name, left, eval(*expr.args[1], scope), site(expr.line));
    }
    case ExprKind::compare:
      return eval_compare(expr, scope);
    case ExprKind::logic: {
      Value left = eval(*expr.args[0], scope);
      return left.truthy() == (expr.name == "or") ? left : eval(*expr.args[1], scope);
    }
    case ExprKind::conditional:
      if (eval(*expr.args[1], scope).truthy()) return eval(*expr.args[0], scope);
      return expr.args[2] ? eval(*expr.args[2], scope) : Value(Undefined{"else part of an inline if"});
  }
  return {};
}

Value Renderer::eval_name(const Expr& expr, const ScopePtr& scope) {
  const Value* found = scope->find(expr.name);
  return found != nullptr ? *found : Value(Undefined{expr.name});
}

Value Renderer::eval_container(const Expr& expr, const ScopePtr& scope) {
  if (expr.kind != ExprKind::dict) {
    std::vector<Value> items;
    for (const ExprPtr& arg : expr.args) items.push_back(eval(*arg, scope));
    return Value::list(std::move(items), expr.kind == ExprKind::tuple);
  }
  std::vector<std::pair<Value, Value>> items;
  for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
    Value key = eval(*expr.args[i], scope);
    Value value = eval(*expr.args[i + 1], scope);
    if (key.as_list() != nullptr || key.as_dict() != nullptr)
      site(expr.line).fail("a key must be a plain value");
    const auto own =
        std::find_if(items.begin(), items.end(), [&](const auto& item) { return equals(item.first, key); });
    if (own != items.end()) {
      own->second = std::move(value);
    } else {
      items.emplace_back(std::move(key), std::move(value));
    }
  }
  return Value::dict(std::move(items));
}

Arguments Renderer::eval_arguments(const Expr& expr, const ScopePtr& scope) {
  Arguments arguments;
  for (size_t i = 1; i < expr.args.size(); ++i) arguments.positional.push_back(eval(*expr.args[i], scope));
  for (const auto& [name, value] : expr.named) arguments.named.emplace_back(name, eval(*value, scope));
  return arguments;
}

Value Renderer::eval_call(const Expr& expr, const ScopePtr& scope) {
  const Site at = site(expr.line);
  const Expr& callee = *expr.args[0];
  if (callee.kind == ExprKind::attribute) {  // a method needs no bound object
    const Value self = eval(*callee.args[0], scope);
    if (has_method(self, callee.name))
      return *call_method(self, callee.name, eval_arguments(expr, scope), at);
  }
  const Value function = eval(callee, scope);
  if (const auto* undefined = function.get<Undefined>()) at.fail("'" + undefined->name + "' is undefined");
  if (function.as_callable() == nullptr) at.fail(fmt::format("'{}' is not callable", function.type_name()));
  return function.as_callable()->call(eval_arguments(expr, scope), at);
}

Value Renderer::eval_compare(const Expr& expr, const ScopePtr& scope) {
  Value left = eval(*expr.args[0], scope);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = eval(*expr.args[i + 1], scope);
    if (!apply_comparison(expr.ops[i], left, right, site(expr.line))) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Renderer::eval_slice(const Expr& expr, const ScopePtr& scope) {
  const auto part = [&](size_t i) { return expr.args[i] ? eval(*expr.args[i], scope) : Value(); };
  const Value base = eval(*expr.args[0], scope);
  return get_slice(base, part(1), part(2), part(3), site(expr.line));
}

}  // namespace

std::string render(const Body& body, std::string_view name,
                   std::vector<std::pair<std::string, Value>> variables, int64_t now) {
  return Renderer(name, now).run(body, std::move(variables));
}

}  // namespace verlc::text::jinja
