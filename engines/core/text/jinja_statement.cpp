#include <fmt/format.h>

#include "core/text/jinja_parser.hpp"

namespace verlc::text::jinja {
namespace {

class StatementParser {
 public:
  explicit StatementParser(TokenStream& stream) : stream_(stream), expressions_(stream) {}

  Body whole() {
    Body body = until({});
    if (stream_.peek().kind != TokenKind::end) stream_.fail("this tag closes nothing");
    return body;
  }

 private:
  std::unique_ptr<Stmt> make(StmtKind kind) {
    auto stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = stream_.line();
    return stmt;
  }

  [[nodiscard]] bool at_block(std::string_view name) const {
    return stream_.peek().kind == TokenKind::block_begin && stream_.peek(1).kind == TokenKind::name &&
           stream_.peek(1).text == name;
  }

  /// Statements up to a block tag whose name is one of `ends`, which stays.
  Body until(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(depth_, stream_);
    Body body;
    while (stream_.peek().kind != TokenKind::end) {
      for (const std::string_view end : ends) {
        if (at_block(end)) return body;
      }
      body.push_back(statement());
    }
    if (ends.size() > 0) stream_.fail(fmt::format("expected '{}' before the end", *(ends.end() - 1)));
    return body;
  }

  void end_block() { stream_.expect(TokenKind::block_end, "the end of the tag"); }
  void close(std::string_view name) {
    stream_.expect(TokenKind::block_begin, "a tag");
    stream_.expect_name(name);
    if (name == "endmacro" && stream_.peek().kind == TokenKind::name) stream_.take();
    end_block();
  }

  std::unique_ptr<Stmt> statement() {
    if (stream_.peek().kind == TokenKind::data) {
      auto stmt = make(StmtKind::text);
      stmt->text = stream_.take().text;
      return stmt;
    }
    if (stream_.peek().kind == TokenKind::output_begin) {
      stream_.take();
      auto stmt = make(StmtKind::output);
      stmt->exprs.push_back(expressions_.tuple_or_expression());
      stream_.expect(TokenKind::output_end, "'}}'");
      return stmt;
    }
    stream_.expect(TokenKind::block_begin, "a tag");
    return block();
  }

  std::unique_ptr<Stmt> block() {
    const std::string name = stream_.take_identifier("a tag name");
    if (name == "if") return branch();
    if (name == "for") return loop();
    if (name == "set") return set();
    if (name == "macro") return macro();
    if (name == "filter") return filter();
    if (name == "with") return with();
    if (name == "generation") {
      auto stmt = make(StmtKind::scope);
      end_block();
      stmt->bodies.push_back(until({"endgeneration"}));
      close("endgeneration");
      return stmt;
    }
    if (name == "break" || name == "continue") {
      auto stmt = make(name == "break" ? StmtKind::stop : StmtKind::next);
      if (num_loops_ == 0) stream_.fail(fmt::format("'{}' stands outside of a loop", name));
      end_block();
      return stmt;
    }
    stream_.fail(
        fmt::format("tag '{}' is not supported (supported: if, for, set, macro, filter, with, raw, break, "
                    "continue, generation)",
                    name));
  }

  std::unique_ptr<Stmt> branch() {
    auto stmt = make(StmtKind::branch);
    stmt->exprs.push_back(expressions_.tuple_or_expression(false));
    end_block();
    while (true) {
      stmt->bodies.push_back(until({"elif", "else", "endif"}));
      stream_.take();
      const std::string name = stream_.take().text;
      if (name == "elif") {
        stmt->exprs.push_back(expressions_.tuple_or_expression(false));
        end_block();
        continue;
      }
      end_block();
      if (name == "else") {
        stmt->bodies.push_back(until({"endif"}));
        close("endif");
      }
      return stmt;
    }
  }

  std::vector<std::string> targets() {
    std::vector<std::string> names;
    const bool bracket = stream_.skip_op("(");
    do {
      if (!names.empty() && stream_.peek().kind != TokenKind::name) break;
      names.push_back(stream_.take_identifier("a variable name"));
    } while (stream_.skip_op(","));
    if (bracket) stream_.expect_op(")");
    return names;
  }

  std::unique_ptr<Stmt> loop() {
    auto stmt = make(StmtKind::loop);
    stmt->names = targets();
    stream_.expect_name("in");
    stmt->exprs.push_back(expressions_.tuple_or_expression(false));
    if (stream_.skip_name("if")) stmt->exprs.push_back(expressions_.expression());
    if (stream_.at_name("recursive")) stream_.fail("recursive loops are not supported");
    end_block();
    ++num_loops_;
    stmt->bodies.push_back(until({"else", "endfor"}));
    --num_loops_;
    if (at_block("else")) {
      close("else");
      stmt->bodies.push_back(until({"endfor"}));
    }
    close("endfor");
    return stmt;
  }

  std::unique_ptr<Stmt> set() {
    auto stmt = make(StmtKind::set);
    stmt->names = targets();
    if (stmt->names.size() == 1 && stream_.skip_op("."))
      stmt->attribute = stream_.take_identifier("an attribute");
    if (stream_.skip_op("=")) {
      stmt->exprs.push_back(expressions_.tuple_or_expression());
      end_block();
      return stmt;
    }
    if (stmt->names.size() != 1) stream_.fail("expected '='");
    stmt->kind = StmtKind::set_block;
    if (stream_.skip_op("|")) stmt->exprs.push_back(expressions_.filter_chain(block_text()));
    end_block();
    stmt->bodies.push_back(until({"endset"}));
    close("endset");
    return stmt;
  }

  ExprPtr block_text() {
    auto expr = std::make_unique<Expr>();
    expr->kind = ExprKind::name;
    expr->line = stream_.line();
    expr->name = kBlockText;
    return expr;
  }

  std::unique_ptr<Stmt> macro() {
    auto stmt = make(StmtKind::macro);
    stmt->text = stream_.take_identifier("a macro name");
    stream_.expect_op("(");
    while (!stream_.at_op(")")) {
      stmt->names.push_back(stream_.take_identifier("a parameter name"));
      stmt->exprs.push_back(stream_.skip_op("=") ? expressions_.expression() : nullptr);
      if (!stream_.skip_op(",")) break;
    }
    stream_.expect_op(")");
    end_block();
    const int outer = std::exchange(num_loops_, 0);
    stmt->bodies.push_back(until({"endmacro"}));
    num_loops_ = outer;
    close("endmacro");
    return stmt;
  }

  std::unique_ptr<Stmt> filter() {
    auto stmt = make(StmtKind::filter);
    stmt->exprs.push_back(expressions_.filter_chain(block_text()));
    end_block();
    stmt->bodies.push_back(until({"endfilter"}));
    close("endfilter");
    return stmt;
  }

  std::unique_ptr<Stmt> with() {
    auto stmt = make(StmtKind::with);
    while (stream_.peek().kind != TokenKind::block_end) {
      stmt->names.push_back(stream_.take_identifier("a variable name"));
      stream_.expect_op("=");
      stmt->exprs.push_back(expressions_.expression());
      if (!stream_.skip_op(",")) break;
    }
    end_block();
    stmt->bodies.push_back(until({"endwith"}));
    close("endwith");
    return stmt;
  }

  TokenStream& stream_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int num_loops_ = 0;
};

}  // namespace

Body parse_template(std::string_view source, std::string_view name) {
  TokenStream stream(tokenize(source, name), name);
  return StatementParser(stream).whole();
}

}  // namespace verlc::text::jinja
