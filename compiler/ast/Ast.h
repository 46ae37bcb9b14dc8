// The syntax tree: what the user wrote, and where. Data only.
//
// A File owns all nodes of its text in vectors. Nodes refer to each other by
// typed index (ExprId, TypeId, BodyId), so a tree copies, prints and compares
// without pointers. Comments stay attached to the item that they precede, for
// the formatter and the documentation.

#ifndef RECIPEC_AST_AST_H
#define RECIPEC_AST_AST_H

#include "compiler/base/Source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace recipec::ast {

enum class ExprId : int32_t { none = -1 };
enum class TypeId : int32_t { none = -1 };
enum class BodyId : int32_t { none = -1 };

/// An identifier and its source range.
struct Name {
  std::string text;
  SourceRange range;
};

/// Comment lines before an item, and a comment after it on the same line. Texts
/// keep their `#` or `##`; an empty text is a blank line between comments.
struct Comments {
  std::vector<std::string> leading;
  std::string trailing;
  bool blankLineBefore = false;
  /// Whether comments stand inside the item, for example in a list over several
  /// lines. Only the source holds them; the formatter prints the item as
  /// written.
  bool inner = false;
};

// ---- expressions

/// `none`, `auto`, `true`, `false`
struct KeywordLiteral {
  enum class Which { none, automatic, trueValue, falseValue } which;
};
/// `42`, `1_000`, `8Ki`; the value is exact.
struct IntLiteral {
  int64_t value;
};
/// `2e-5`, `0.1`; `3%` is 0.03
struct FloatLiteral {
  double value;
};
/// A number with a unit: `80GiB`, `500 steps`, `8Ki tokens`, `30min`. The value
/// already includes a multiplier such as `Ki`.
struct QuantityLiteral {
  double value;
  bool isInteger;
  Name unit;
};
/// A string. Interpolations `{expr}` split it into parts, so `texts` has one
/// more element than `holes`. A multi-line string is stored without its
/// indentation.
struct StringLiteral {
  std::vector<std::string> texts;
  std::vector<ExprId> holes;
};
struct NameRef {
  Name name;
};
/// `base.member`
struct Member {
  ExprId base;
  Name member;
};
/// `base[index]`
struct Index {
  ExprId base;
  ExprId index;
};
struct Argument {
  std::optional<Name> name; // `eps = 1e-5`
  ExprId value;
};
/// `callee(argument, name = argument)`
struct Call {
  ExprId callee;
  std::vector<Argument> arguments;
};
/// `base { field = value ... }`: the base with these fields changed.
struct Amend {
  ExprId base;
  BodyId body;
};
/// `[a, b]`
struct ListExpr {
  std::vector<ExprId> elements;
};
/// `for name in source if condition`. Two names are the index and element of a
/// list or the key and value of a map.
struct Clause {
  std::vector<Name> variables; // one or two
  ExprId source;
  ExprId condition; // none where absent
};
/// `[expr for x in xs for y in ys if condition]`; the last clause varies
/// fastest.
struct Comprehension {
  ExprId element;
  std::vector<Clause> clauses; // at least one
};
enum class UnaryOp { negate, logicalNot };
struct Unary {
  UnaryOp op;
  ExprId operand;
};
enum class BinaryOp {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  equal,
  notEqual,
  less,
  lessEqual,
  greater,
  greaterEqual,
  logicalAnd,
  logicalOr,
  range /* a..b */,
  maps /* dims -> dims */,
  in
};
struct Binary {
  BinaryOp op;
  ExprId left;
  ExprId right;
  SourceRange opRange;
};
/// `operand is type`: whether the value is of the type.
struct TypeTest {
  ExprId operand;
  TypeId type;
};
/// `if condition then a else b`
struct Conditional {
  ExprId condition;
  ExprId thenValue;
  ExprId elseValue;
};
/// `{ name = value ... }` without a base: a record without a schema (a map).
struct RecordExpr {
  BodyId body;
};

struct Expr {
  SourceRange range;
  std::variant<KeywordLiteral, IntLiteral, FloatLiteral, QuantityLiteral,
               StringLiteral, NameRef, Member, Index, Call, Amend, ListExpr,
               Comprehension, Unary, Binary, TypeTest, Conditional, RecordExpr>
      node;
};

// ---- types

/// A type as written: `int`, `bytes`, `"1f1b" | "interleaved"`, `1 | 2 | 4`,
/// `[string]`, `rope_scaling | none`, `map[string, int]`, `fun(int): float`.
struct NamedType {
  std::vector<Name> path; // `int`, `llama.rope_scaling`, `none`, `auto`
};
struct StringType {
  std::string value; // a literal type
};
struct IntType {
  int64_t value; // a literal type
};
struct ListType {
  TypeId element;
};
struct MapType {
  TypeId key;
  TypeId value;
};
struct UnionType {
  std::vector<TypeId> members;
};
struct FunctionType {
  std::vector<TypeId> parameters;
  TypeId result;
};
struct Type {
  SourceRange range;
  std::variant<NamedType, StringType, IntType, ListType, MapType, UnionType,
               FunctionType>
      node;
};

// ---- bodies: items between braces

/// `path = value`, or `path { ... }`, which amends the value of `path`.
struct Assignment {
  std::vector<Name> path; // one name, or dotted
  ExprId value;           // none when `body` is there
  BodyId body;            // none when `value` is there
};
/// `[key] = value` of a map
struct Entry {
  ExprId key;
  ExprId value;
};
/// `name : type = default`, `fixed name : type = expr`. The compiler sets a
/// fixed field that has no value.
struct FieldDecl {
  bool isFixed = false;
  Name name;
  TypeId type;
  ExprId defaultValue; // none for a required field
};
/// `require condition : "message"`
struct Require {
  ExprId condition;
  ExprId message; // none where absent
};
/// `let name = value` in a body, a block or a file
struct Let {
  Name name;
  ExprId value;
};
/// `name = value` in a block of a model, where a name may be bound again, is an
/// Assignment too. The kind of the body distinguishes them.

/// `for name in source { ... }`, with one or two names as in a Clause. In a
/// block it repeats statements, and names that are bound again inside carry
/// their values into the next iteration. In a map it repeats entries.
struct For {
  std::vector<Name> variables;
  ExprId source;
  BodyId body;
};
/// `if condition { ... } else { ... }` as a statement of a block, or around
/// entries of a map
struct If {
  ExprId condition;
  BodyId thenBody;
  BodyId elseBody; // none where absent
};
struct Return {
  ExprId value;
};
struct Parameter {
  Name name;
  TypeId type; // none where absent: a tensor
  ExprId defaultValue;
};
/// `block name(x, y: int = 1) { ... }` in a model or a file: a function from
/// tensors to a tensor. `op name(...)`, in the standard library, has no body.
struct BlockDecl {
  Name name;
  std::vector<Parameter> parameters;
  BodyId body; // none for an op
};
/// `fun name(a: int): int = expr`, or with a body of `let`s and one `return`:
/// a pure function of values.
struct FunDecl {
  Name name;
  std::vector<Parameter> parameters;
  TypeId result; // none where absent
  ExprId value;  // none when `body` is there
  BodyId body;   // none when `value` is there
};

struct Item {
  SourceRange range;
  Comments comments;
  std::variant<Assignment, Entry, FieldDecl, Require, Let, For, If, Return,
               BlockDecl, FunDecl>
      node;
};

struct Body {
  SourceRange range; // with the braces
  std::vector<Item> items;
  Comments closing; // comments before the closing brace
  bool oneLine = false;
};

// ---- files

/// `name`, or `name as other`
struct Selected {
  Name name;
  std::optional<Name> alias;
};
/// `import std.models.llama`, `import "../team/base.recipe" as base`,
/// `import std.models.llama { llama3_8b, llama3_70b as big }`. With a selection
/// the file itself has a name only if `as` gives one.
struct Import {
  std::vector<Name> path; // empty for a quoted path
  std::string file;       // empty for a dotted path
  SourceRange targetRange;
  std::optional<Name> alias;
  std::optional<std::vector<Selected>> selection;
};
/// `recipe name amends parent with mixin, mixin { ... }`. An abstract recipe is
/// only a parent of other recipes.
struct RecipeDecl {
  bool isAbstract = false;
  Name name;
  ExprId parent; // none where absent
  std::vector<ExprId> mixins;
  BodyId body;
};
/// `mixin name(parameters) { ... }`: settings for any recipe.
struct MixinDecl {
  Name name;
  std::vector<Parameter> parameters;
  BodyId body;
};
/// `schema name { fields }`: a closed record type.
struct SchemaDecl {
  Name name;
  BodyId body;
};
/// `model name { fields, blocks, forward }`: a schema with a computation. Its
/// entry point is the block `forward(tokens)`.
struct ModelDecl {
  Name name;
  BodyId body;
};

struct Declaration {
  SourceRange range;
  Comments comments;
  std::variant<Import, RecipeDecl, MixinDecl, SchemaDecl, ModelDecl, Let,
               BlockDecl, FunDecl>
      node;
};

struct File {
  SourceId source = SourceId::none;
  Comments header; // comments at the top, before a blank line
  std::vector<Declaration> declarations;
  Comments closing;

  std::vector<Expr> exprs;
  std::vector<Type> types;
  std::vector<Body> bodies;

  const Expr& operator[](ExprId id) const { return exprs[size_t(id)]; }
  const Type& operator[](TypeId id) const { return types[size_t(id)]; }
  const Body& operator[](BodyId id) const { return bodies[size_t(id)]; }
};

} // namespace recipec::ast

#endif // RECIPEC_AST_AST_H
