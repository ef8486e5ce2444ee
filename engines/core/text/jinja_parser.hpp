// The parsers of expressions and statements, over one stream of tokens.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/text/jinja_ast.hpp"
#include "core/text/jinja_lexer.hpp"

namespace verlc::text::jinja {

/// A cursor over tokens with the checks that both parsers share.
class TokenStream {
 public:
  TokenStream(std::vector<Token> tokens, std::string_view name) : tokens_(std::move(tokens)), name_(name) {}

  [[nodiscard]] const Token& peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& take() {
    const Token& token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  [[nodiscard]] bool at_op(std::string_view op) const {
    return peek().kind == TokenKind::op && peek().text == op;
  }
  [[nodiscard]] bool at_name(std::string_view name) const {
    return peek().kind == TokenKind::name && peek().text == name;
  }
  bool skip_op(std::string_view op) { return at_op(op) && (take(), true); }
  bool skip_name(std::string_view name) { return at_name(name) && (take(), true); }
  void expect_op(std::string_view op);
  void expect_name(std::string_view name);
  void expect(TokenKind kind, std::string_view what);
  std::string take_identifier(std::string_view what);
  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] int line() const { return peek().line; }
  [[nodiscard]] std::string_view name() const { return name_; }

 private:
  std::vector<Token> tokens_;
  std::string_view name_;
  size_t at_ = 0;
};

/// Counts nesting while it lives; fails beyond 200.
class Nesting {
 public:
  Nesting(int& depth, const TokenStream& stream) : depth_(depth) {
    if (++depth_ > 200) stream.fail("nested over 200 levels");
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --depth_; }

 private:
  int& depth_;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& stream) : stream_(stream) {}

  /// A whole expression; with `conditional` false, `x if y` is not read.
  ExprPtr expression(bool conditional = true);
  /// An expression or a bare tuple `a, b`.
  ExprPtr tuple_or_expression(bool conditional = true);
  /// `name(args) | name ...` with the input that a block printed.
  ExprPtr filter_chain(ExprPtr input);

 private:
  using Rule = ExprPtr (ExpressionParser::*)();

  ExprPtr make(ExprKind kind, std::string name = {});
  /// Left-associative operators `ops` between parts read by `rule`.
  ExprPtr fold(ExprKind kind, std::initializer_list<std::string_view> ops, Rule rule);
  ExprPtr filtered_unary() { return unary(true); }
  ExprPtr filter(ExprPtr input);
  ExprPtr logic_or();
  ExprPtr logic_and();
  ExprPtr logic_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter);
  ExprPtr primary();
  ExprPtr number();
  ExprPtr bracketed();
  ExprPtr list_literal();
  ExprPtr dict_literal();
  ExprPtr postfix(ExprPtr base);
  ExprPtr subscript(ExprPtr base);
  ExprPtr filters_and_tests(ExprPtr base);
  ExprPtr test(ExprPtr base);
  void call_arguments(Expr& call);

  TokenStream& stream_;
  int depth_ = 0;
};

}  // namespace verlc::text::jinja
