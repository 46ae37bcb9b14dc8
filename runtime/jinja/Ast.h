// The syntax tree of a template.

#ifndef RECIPERUN_JINJA_AST_H
#define RECIPERUN_JINJA_AST_H

#include "runtime/jinja/Value.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reciperun::jinja::ast {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>; // null where an optional one is absent

// ---- expressions

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct ListExpr {
  std::vector<ExprPtr> elements;
};
struct DictExpr {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
struct Attribute { // base.name
  ExprPtr base;
  std::string name;
};
struct Index { // base[index]
  ExprPtr base, index;
};
struct Slice { // base[first:last:step]
  ExprPtr base, first, last, step;
};
struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
};
struct Call {
  ExprPtr callee;
  CallArguments arguments;
};
struct Filter { // operand | name(arguments)
  ExprPtr operand;
  std::string name;
  CallArguments arguments;
};
struct Test { // operand is [not] name(arguments)
  ExprPtr operand;
  bool isNegated = false;
  std::string name;
  CallArguments arguments;
};
enum class UnaryOp { no, minus, plus };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  floorDivide,
  modulo,
  power,
  concatenate,
  conjunction,
  disjunction,
};
struct Binary {
  BinaryOp op;
  ExprPtr left, right;
};
enum class CompareOp {
  equal,
  unequal,
  less,
  lessEqual,
  greater,
  greaterEqual,
  in,
  notIn,
};
struct Compare { // first op operand op operand ..., as in Python
  ExprPtr first;
  std::vector<std::pair<CompareOp, ExprPtr>> rest;
};
struct Conditional { // value if condition else otherwise
  ExprPtr value, condition, otherwise;
};

struct Expr {
  int line = 0;
  std::variant<Literal, Name, ListExpr, DictExpr, Attribute, Index, Slice, Call,
               Filter, Test, Unary, Binary, Compare, Conditional>
      node;
};

// ---- statements

struct Statement;
using Body = std::vector<Statement>;

struct Text {
  std::string text;
};
struct Output {
  ExprPtr value;
};
struct If {
  struct Branch {
    ExprPtr condition; // null: `else`
    Body body;
  };
  std::vector<Branch> branches;
};
struct For {
  std::vector<std::string> targets; // several unpack each element
  ExprPtr elements;
  ExprPtr condition; // optional
  bool isRecursive = false;
  Body body, otherwise;
};
/// `{% set a, b = value %}`, `{% set space.name = value %}`.
struct Set {
  std::vector<std::string> targets;
  std::string attribute; // of the only target; empty: the name itself
  ExprPtr value;
};
struct SetBlock { // {% set name %}...{% endset %}
  std::string target;
  Body body;
};
struct Parameter {
  std::string name;
  ExprPtr initial; // optional
};
struct Macro {
  std::string name;
  std::vector<Parameter> parameters;
  Body body;
};
struct CallBlock { // {% call(parameters) callee(...) %}...{% endcall %}
  Macro caller;
  ExprPtr call;
};
struct FilterBlock { // {% filter name(...) %}...{% endfilter %}
  std::string name;
  CallArguments arguments;
  Body body;
};
struct Block { // {% generation %}...{% endgeneration %}
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  int line = 0;
  std::variant<Text, Output, If, For, Set, SetBlock, Macro, CallBlock,
               FilterBlock, Block, Break, Continue>
      node;
};

} // namespace reciperun::jinja::ast

#endif // RECIPERUN_JINJA_AST_H
