#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/text/jinja_builtins.hpp"
#include "core/text/jinja_parser.hpp"

namespace verlc::text::jinja {
namespace {

constexpr int kMostChain = 500;

}  // namespace

void TokenStream::fail(const std::string& what) const {
  Site{name_, line()}.fail("template syntax: " + what,
                           peek().kind == TokenKind::end ? "end of template" : peek().text);
}

void TokenStream::expect_op(std::string_view op) {
  if (!skip_op(op)) fail(fmt::format("expected '{}'", op));
}

void TokenStream::expect_name(std::string_view name) {
  if (!skip_name(name)) fail(fmt::format("expected '{}'", name));
}

void TokenStream::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) fail(fmt::format("expected {}", what));
  take();
}

std::string TokenStream::take_identifier(std::string_view what) {
  if (peek().kind != TokenKind::name) fail(fmt::format("expected {}", what));
  return take().text;
}

ExprPtr ExpressionParser::make(ExprKind kind, std::string name) {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = stream_.line();
  expr->name = std::move(name);
  return expr;
}

ExprPtr ExpressionParser::tuple_or_expression(bool conditional) {
  ExprPtr first = expression(conditional);
  if (!stream_.at_op(",")) return first;
  ExprPtr tuple = make(ExprKind::tuple);
  tuple->args.push_back(std::move(first));
  while (stream_.skip_op(",")) {
    const TokenKind kind = stream_.peek().kind;
    if (kind == TokenKind::block_end || kind == TokenKind::output_end || stream_.at_op(")")) break;
    tuple->args.push_back(expression(conditional));
  }
  return tuple;
}

ExprPtr ExpressionParser::expression(bool conditional) {
  const Nesting nesting(depth_, stream_);
  ExprPtr value = logic_or();
  for (int count = 0; conditional && stream_.at_name("if"); ++count) {
    if (count >= kMostChain) stream_.fail("a chain of too many conditions");
    ExprPtr whole = make(ExprKind::conditional);
    stream_.take();
    ExprPtr condition = logic_or();
    ExprPtr other = stream_.skip_name("else") ? expression() : nullptr;
    whole->args.push_back(std::move(value));
    whole->args.push_back(std::move(condition));
    whole->args.push_back(std::move(other));
    value = std::move(whole);
  }
  return value;
}

ExprPtr ExpressionParser::fold(ExprKind kind, std::initializer_list<std::string_view> ops, Rule rule) {
  ExprPtr left = (this->*rule)();
  for (int count = 0;; ++count) {
    const TokenKind wanted = kind == ExprKind::logic ? TokenKind::name : TokenKind::op;
    const Token& token = stream_.peek();
    if (token.kind != wanted || std::find(ops.begin(), ops.end(), token.text) == ops.end()) return left;
    // A chain is a left-deep tree that is walked and freed recursively.
    if (count >= kMostChain) stream_.fail("a chain of too many operators");
    ExprPtr whole = make(kind, token.text);
    stream_.take();
    whole->args.push_back(std::move(left));
    whole->args.push_back((this->*rule)());
    left = std::move(whole);
  }
}

ExprPtr ExpressionParser::logic_or() {
  return fold(ExprKind::logic, {"or"}, &ExpressionParser::logic_and);
}

ExprPtr ExpressionParser::logic_and() {
  return fold(ExprKind::logic, {"and"}, &ExpressionParser::logic_not);
}

ExprPtr ExpressionParser::logic_not() {
  if (!stream_.at_name("not")) return comparison();
  const Nesting nesting(depth_, stream_);
  ExprPtr whole = make(ExprKind::unary, "not");
  stream_.take();
  whole->args.push_back(logic_not());
  return whole;
}

ExprPtr ExpressionParser::comparison() {
  static constexpr std::string_view kOps[] = {"==", "!=", "<", "<=", ">", ">="};
  ExprPtr left = sum();
  ExprPtr whole;
  while (true) {
    std::string op;
    if (stream_.peek().kind == TokenKind::op &&
        std::find(std::begin(kOps), std::end(kOps), stream_.peek().text) != std::end(kOps)) {
      op = stream_.peek().text;
    } else if (stream_.at_name("in")) {
      op = "in";
    } else if (stream_.at_name("not") && stream_.peek(1).kind == TokenKind::name &&
               stream_.peek(1).text == "in") {
      op = "not in";
    } else {
      return whole ? std::move(whole) : std::move(left);
    }
    if (!whole) {
      whole = make(ExprKind::compare);
      whole->args.push_back(std::move(left));
    }
    if (op == "not in") stream_.take();
    stream_.take();
    whole->ops.push_back(op);
    whole->args.push_back(sum());
  }
}

namespace {

bool at_any(const TokenStream& stream, std::initializer_list<std::string_view> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](std::string_view op) { return stream.at_op(op); });
}

}  // namespace

ExprPtr ExpressionParser::sum() {
  return fold(ExprKind::binary, {"+", "-"}, &ExpressionParser::concat);
}

ExprPtr ExpressionParser::concat() {
  return fold(ExprKind::binary, {"~"}, &ExpressionParser::product);
}

ExprPtr ExpressionParser::product() {
  return fold(ExprKind::binary, {"*", "/", "//", "%"}, &ExpressionParser::power);
}

ExprPtr ExpressionParser::power() {
  return fold(ExprKind::binary, {"**"}, &ExpressionParser::filtered_unary);
}

ExprPtr ExpressionParser::unary(bool with_filter) {
  const Nesting nesting(depth_, stream_);
  ExprPtr value;
  if (at_any(stream_, {"-", "+"})) {
    value = make(ExprKind::unary, stream_.peek().text);
    stream_.take();
    value->args.push_back(unary(false));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  return with_filter ? filters_and_tests(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::primary() {
  const Token& token = stream_.peek();
  if (token.kind == TokenKind::name) {
    ExprPtr expr = make(ExprKind::constant);
    const std::string name = stream_.take().text;
    if (name == "true" || name == "True") {
      expr->constant = Value(true);
    } else if (name == "false" || name == "False") {
      expr->constant = Value(false);
    } else if (name == "none" || name == "None") {
      expr->constant = Value(None{});
    } else {
      expr->kind = ExprKind::name;
      expr->name = name;
    }
    return expr;
  }
  if (token.kind == TokenKind::string) {
    ExprPtr expr = make(ExprKind::constant);
    std::string text;
    while (stream_.peek().kind == TokenKind::string) text += stream_.take().text;
    expr->constant = Value(std::move(text));
    return expr;
  }
  if (token.kind == TokenKind::integer || token.kind == TokenKind::floating) return number();
  return bracketed();
}

ExprPtr ExpressionParser::number() {
  ExprPtr expr = make(ExprKind::constant);
  const Token token = stream_.take();
  if (token.kind == TokenKind::floating) {
    expr->constant = Value(std::strtod(token.text.c_str(), nullptr));
    return expr;
  }
  int64_t value = 0;
  const auto read = std::from_chars(token.text.data(), token.text.data() + token.text.size(), value);
  if (read.ec != std::errc()) stream_.fail("a number is too large");
  expr->constant = Value(value);
  return expr;
}

ExprPtr ExpressionParser::bracketed() {
  if (stream_.at_op("(")) {
    stream_.take();
    if (stream_.skip_op(")")) return make(ExprKind::tuple);
    ExprPtr inner = tuple_or_expression();
    stream_.expect_op(")");
    return inner;
  }
  if (stream_.at_op("[")) return list_literal();
  if (stream_.at_op("{")) return dict_literal();
  stream_.fail("expected an expression");
}

ExprPtr ExpressionParser::list_literal() {
  ExprPtr list = make(ExprKind::list);
  stream_.expect_op("[");
  while (!stream_.at_op("]")) {
    list->args.push_back(expression());
    if (!stream_.skip_op(",")) break;
  }
  stream_.expect_op("]");
  return list;
}

ExprPtr ExpressionParser::dict_literal() {
  ExprPtr dict = make(ExprKind::dict);
  stream_.expect_op("{");
  while (!stream_.at_op("}")) {
    dict->args.push_back(expression());
    stream_.expect_op(":");
    dict->args.push_back(expression());
    if (!stream_.skip_op(",")) break;
  }
  stream_.expect_op("}");
  return dict;
}

ExprPtr ExpressionParser::postfix(ExprPtr base) {
  for (int count = 0;; ++count) {
    if (count >= kMostChain) stream_.fail("a chain of too many parts");
    if (stream_.at_op(".")) {
      ExprPtr whole = make(ExprKind::attribute);
      stream_.take();
      if (stream_.peek().kind == TokenKind::integer) {
        whole->kind = ExprKind::item;
        whole->args.push_back(std::move(base));
        whole->args.push_back(number());
      } else {
        whole->name = stream_.take_identifier("an attribute name");
        whole->args.push_back(std::move(base));
      }
      base = std::move(whole);
    } else if (stream_.at_op("[")) {
      base = subscript(std::move(base));
    } else if (stream_.at_op("(")) {
      ExprPtr call = make(ExprKind::call);
      call->args.push_back(std::move(base));
      call_arguments(*call);
      base = std::move(call);
    } else {
      return base;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr base) {
  ExprPtr whole = make(ExprKind::item);
  stream_.expect_op("[");
  whole->args.push_back(std::move(base));
  ExprPtr parts[3];
  size_t part = 0;
  bool slice = false;
  while (!stream_.at_op("]")) {
    if (stream_.skip_op(":")) {
      slice = true;
      if (++part > 2) stream_.fail("a slice has three parts at most");
    } else {
      if (parts[part]) stream_.fail("expected ']'");
      parts[part] = tuple_or_expression();
    }
  }
  stream_.expect_op("]");
  if (!slice && !parts[0]) stream_.fail("expected an index");
  if (slice) whole->kind = ExprKind::slice;
  for (size_t i = 0; i < (slice ? 3u : 1u); ++i) whole->args.push_back(std::move(parts[i]));
  return whole;
}

void ExpressionParser::call_arguments(Expr& call) {
  stream_.expect_op("(");
  while (!stream_.at_op(")")) {
    if (stream_.at_op("*") || stream_.at_op("**")) stream_.fail("star arguments are not supported");
    const bool named = stream_.peek().kind == TokenKind::name && stream_.peek(1).kind == TokenKind::op &&
                       stream_.peek(1).text == "=";
    if (named) {
      std::string name = stream_.take().text;
      stream_.take();
      call.named.emplace_back(std::move(name), expression());
    } else {
      if (!call.named.empty()) stream_.fail("a positional argument follows a named one");
      call.args.push_back(expression());
    }
    if (!stream_.skip_op(",")) break;
  }
  stream_.expect_op(")");
}

ExprPtr ExpressionParser::filter_chain(ExprPtr input) {
  input = filter(std::move(input));
  for (int count = 0; stream_.skip_op("|"); ++count) {
    if (count >= kMostChain) stream_.fail("a chain of too many parts");
    input = filter(std::move(input));
  }
  return input;
}

ExprPtr ExpressionParser::filter(ExprPtr input) {
  ExprPtr whole = make(ExprKind::filter);
  whole->name = stream_.take_identifier("a filter name");
  if (find_filter(whole->name) == nullptr) {
    Site{stream_.name(), whole->line}.fail("filter is not supported; supported: " + filter_names(),
                                           whole->name);
  }
  whole->args.push_back(std::move(input));
  if (stream_.at_op("(")) call_arguments(*whole);
  return whole;
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr base) {
  for (int count = 0;; ++count) {
    if (count >= kMostChain) stream_.fail("a chain of too many parts");
    if (stream_.skip_op("|")) {
      base = filter(std::move(base));
    } else if (stream_.at_name("is")) {
      base = test(std::move(base));
    } else if (stream_.at_op("(")) {
      ExprPtr call = make(ExprKind::call);
      call->args.push_back(std::move(base));
      call_arguments(*call);
      base = std::move(call);
    } else {
      return base;
    }
  }
}

ExprPtr ExpressionParser::test(ExprPtr base) {
  ExprPtr whole = make(ExprKind::test);
  stream_.expect_name("is");
  const bool negated = stream_.skip_name("not");
  whole->name = stream_.take_identifier("a test name");
  if (find_test(whole->name) == nullptr) {
    Site{stream_.name(), whole->line}.fail("test is not supported; supported: " + test_names(), whole->name);
  }
  whole->args.push_back(std::move(base));
  const Token& next = stream_.peek();
  const bool literal = next.kind == TokenKind::string || next.kind == TokenKind::integer ||
                       next.kind == TokenKind::floating || at_any(stream_, {"[", "{"});
  static constexpr std::string_view kAfter[] = {"else", "or", "and", "is", "if", "not", "in"};
  const bool word = next.kind == TokenKind::name &&
                    std::find(std::begin(kAfter), std::end(kAfter), next.text) == std::end(kAfter);
  if (stream_.at_op("(")) {
    call_arguments(*whole);
  } else if (literal || word) {
    whole->args.push_back(postfix(primary()));
  }
  if (!negated) return whole;
  ExprPtr inverse = make(ExprKind::unary, "not");
  inverse->args.push_back(std::move(whole));
  return inverse;
}

}  // namespace verlc::text::jinja
