// The syntax tree of a template, and its parser.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/jinja_value.hpp"

namespace verlc::text::jinja {

enum class ExprKind {
  constant,
  name,         ///< name
  list,         ///< args
  tuple,        ///< args
  dict,         ///< args: key, value, key, value, ...
  attribute,    ///< args[0].name
  item,         ///< args[0][args[1]]
  slice,        ///< args[0][args[1]:args[2]:args[3]], absent parts null
  call,         ///< args[0](args[1...], named)
  filter,       ///< args[0] | name(args[1...], named)
  test,         ///< args[0] is name(args[1...], named)
  unary,        ///< name: - + not
  binary,       ///< name: + - ~ * / // % **
  compare,      ///< args[0] ops[0] args[1] ops[1] args[2] ...
  logic,        ///< name: and or
  conditional,  ///< args[0] if args[1] else args[2] (may be null)
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  ExprKind kind;
  int line;
  std::string name;
  Value constant;
  std::vector<ExprPtr> args;
  std::vector<std::pair<std::string, ExprPtr>> named;
  std::vector<std::string> ops;
};

enum class StmtKind {
  text,       ///< text
  output,     ///< exprs[0]
  branch,     ///< if: exprs[i] guards bodies[i]; one more body is the else
  loop,       ///< for names in exprs[0] (if exprs[1]): bodies[0] else bodies[1]
  set,        ///< names = exprs[0], or namespace attribute when `attribute` is set
  set_block,  ///< names[0] = printed bodies[0], through exprs[0] (a filter of the text) when present
  macro,      ///< text is its name; names are parameters, exprs their defaults (null for none)
  filter,     ///< bodies[0] printed through exprs[0]
  with,       ///< names = exprs inside bodies[0]
  scope,      ///< bodies[0] as it is
  stop,       ///< break
  next,       ///< continue
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

struct Stmt {
  StmtKind kind;
  int line;
  std::string text;
  std::string attribute;
  std::vector<std::string> names;
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
};

/// The name under which a filter's expression finds the printed text of a filter or set block.
inline constexpr std::string_view kBlockText = " block text";

/// Error(input) with the line for text that is no template of the supported subset; nesting is limited to
/// 200.
Body parse_template(std::string_view source, std::string_view name);

}  // namespace verlc::text::jinja
