// Values during the evaluation of expressions.
//
// A recipe::Value is finished; a sema::Value may still be lazy: a record is an
// Object that evaluates each slot on its first read. A Store owns objects,
// lists and functions; values refer to them by address.

#ifndef RECIPEC_SEMA_VALUES_VALUE_H
#define RECIPEC_SEMA_VALUES_VALUE_H

#include "compiler/ast/Ast.h"
#include "compiler/recipe/Recipe.h"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace recipec::sema {

struct BuiltinFunction; // Builtins.h
struct Env;
struct Field;
struct Locals;
struct Module;
struct Object;
struct Schema;
struct Slot;
struct Type;
struct Value;

/// The value of an expression whose error has already been reported.
struct Poison {};

/// A named dimension: a field of type `dim` of a model.
struct DimRef {
  const Object* model = nullptr;
  std::string_view name;
  int64_t size = 0;
};
struct Mapping {
  std::vector<DimRef> from;
  std::vector<DimRef> to;
};
/// `begin..end`, half-open
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t count() const {
    int64_t count = 0;
    if (end <= begin)
      return 0;
    return __builtin_sub_overflow(end, begin, &count) ? INT64_MAX : count;
  }
};
struct ListValue {
  std::vector<Value> elements;
};
/// A tensor of the model that is being traced.
struct Tensor {
  recipe::TensorId id = recipe::TensorId::none;
};
struct Function {
  const ast::FunDecl* declaration = nullptr;
  const Env* env = nullptr;
  /// The type that the function was passed as. Its calls must match this type.
  const Type* contract = nullptr;
};
/// A block of a model or file. A declaration without a body is an op.
struct Block {
  const ast::BlockDecl* declaration = nullptr;
  const Env* env = nullptr;

  bool isOp() const { return declaration->body == ast::BodyId::none; }
};
/// Settings that any recipe may include. A call of the mixin binds `arguments`.
struct Mixin {
  const ast::MixinDecl* declaration = nullptr;
  const Env* env = nullptr;
  Locals* arguments = nullptr;
};
struct Builtin {
  const BuiltinFunction* function = nullptr;
};

struct Value {
  std::variant<Poison, recipe::None, recipe::Auto, bool, int64_t, double,
               std::string, recipe::Quantity, DimRef, const Mapping*, Range,
               const ListValue*, Object*, const Schema*, Module*, Tensor,
               const Function*, const Block*, const Mixin*, Builtin>
      data;
  recipe::Origin origin;

  template <class T> bool is() const { return std::holds_alternative<T>(data); }
  template <class T> const T* get() const { return std::get_if<T>(&data); }
  bool isPoison() const { return is<Poison>(); }
  /// An `int`, a `float` or the size of a `dim`.
  bool isNumber() const {
    return is<int64_t>() || is<double>() || is<DimRef>();
  }
  /// Whether an interpolation can write the value as a recipe writes it.
  bool isScalar() const {
    return isNumber() || is<recipe::None>() || is<recipe::Auto>() ||
           is<bool>() || is<std::string>() || is<recipe::Quantity>();
  }
};

/// The value that replaces one whose error has been reported.
inline Value poison() {
  return {};
}

// ---- types

struct Type {
  enum class Kind {
    integer,
    real,
    boolean,
    string,
    dim,
    quantity,
    tensor,
    mapping,
    any,
    none,
    automatic,
    literal,
    integerLiteral,
    list,
    map,
    function,
    unionOf,
    schema,
    model,
    unknown, // the type of a reported error; accepts every value
  };
  Kind kind = Kind::unknown;
  recipe::Unit unit = recipe::Unit::bytes; // of `quantity`
  bool isElastic = false; // of `integer`: takes a list, too (ElasticInt.h)
  std::string literal;
  int64_t number = 0; // of `integerLiteral`
  /// The element type of a `list` or `map`; the result type of a `function`.
  const Type* element = nullptr;
  /// The alternatives of a `unionOf`, which are no unions themselves; the
  /// parameter types of a `function`.
  std::vector<const Type*> members;
  const Schema* schema = nullptr;

  /// A type that its kind describes completely.
  static Type plain(Kind kind) {
    Type type;
    type.kind = kind;
    return type;
  }
};

// ---- scopes

/// Names bound by parameters, by comprehensions and by statements of a block.
struct Locals {
  std::vector<std::pair<std::string_view, Value>> names;
  /// Of a call of a function: its parameters.
  const std::vector<ast::Parameter>* parameters = nullptr;
  /// For an iteration of a `for`: its variables, and the list, range or map
  /// that it iterates over, in the enclosing scope.
  const std::vector<ast::Name>* variables = nullptr;
  ast::ExprId source = ast::ExprId::none;

  Value* find(std::string_view name);
};

/// One assignment of a Layer: `path = value`, or `path { body }`.
struct Member {
  std::span<const ast::Name> path;
  ast::ExprId value = ast::ExprId::none;
  ast::BodyId body = ast::BodyId::none;
  const Value* given = nullptr; // instead of `value`
  SourceRange range;            // of the whole assignment
  const Env* env = nullptr; // of an iteration of `for`; replaces the layer's
  bool setsFixed = false;   // set by the compiler on a fixed field
};

/// The settings that one pair of braces, or one list of arguments, gives a
/// record.
struct Layer {
  const Env* env = nullptr; // around the braces
  /// Whether expressions see the record's own fields. They do in braces after a
  /// record, but not in arguments and not in anonymous records.
  bool isScope = false;
  bool isArguments = false; // between parentheses
  Locals* locals = nullptr; // the arguments of a mixin
  /// A key or the source of a `for` is poison, so some keys are unknown.
  bool isBroken = false;
  SourceRange range;
  std::vector<Member> members;
  std::vector<const ast::Let*> lets;
  std::vector<const ast::FunDecl*> functions;
  std::vector<const ast::BlockDecl*> blocks;
  std::vector<const ast::Require*> conditions;
};

/// One level of scope. Expressions are evaluated in a chain of levels.
struct Env {
  const ast::File* file = nullptr; // owns the syntax nodes
  Module* module = nullptr;        // its names are looked up last
  const Env* outer = nullptr;
  Object* object = nullptr;     // its fields are visible as names
  const Layer* layer = nullptr; // its lets, functions and blocks are visible
  Locals* locals = nullptr;
  bool inBlock = false; // whether ops may be called
  /// The field of `object` that is being defined. Its own name means the name
  /// in the outer scope, as in `lora { rank = rank }`.
  std::string_view defined;
};

/// The meaning of a name at one place. At most one of the pointers after `env`
/// is set.
struct Binding {
  const Env* env = nullptr; // the level at which it was found
  Value* local = nullptr;
  Slot* slot = nullptr; // of `env->object`
  const ast::Let* let = nullptr;
  const ast::FunDecl* function = nullptr;
  const ast::BlockDecl* block = nullptr;

  explicit operator bool() const {
    return local || slot || let || function || block;
  }
};

// ---- records

struct Field {
  const ast::FieldDecl* declaration = nullptr;
  const Type* type = nullptr;
  SourceRange range;
};

/// A `schema` or `model`.
struct Schema {
  std::string_view name;
  /// The name by which every file sees the schema, if it differs: `tokens` for
  /// the schema `token_file`. Otherwise empty.
  std::string_view alias;
  bool isModel = false;
  const ast::File* file = nullptr;
  const ast::Body* body = nullptr;
  SourceRange range; // of the name
  Layer layer;       // its lets, blocks and conditions
  std::vector<Field> fields;

  const Field* find(std::string_view name) const;
  /// The name that a recipe writes.
  std::string_view shownName() const { return alias.empty() ? name : alias; }

private:
  /// Indices of fields by name. Used only for schemas with many fields.
  mutable std::unordered_map<std::string_view, size_t> places;
};

/// One level of a Slot's chain: a member of which `depth` names of the path are
/// consumed.
struct Definition {
  const Layer* layer = nullptr;
  const Member* member = nullptr;
  size_t depth = 0;

  /// Whether the member gives the slot's value instead of amending it.
  bool isValue() const {
    return depth + 1 == member->path.size() &&
           member->body == ast::BodyId::none;
  }
};

/// A field of an Object. The first Definition may give a value, and the others
/// amend it. Without a given value they amend the default of the schema.
struct Slot {
  std::string_view name;
  const Field* field = nullptr; // null in an anonymous record
  std::vector<Definition> chain;
  enum class State { waiting, running, done } state = State::waiting;
  Value value;
};

/// A `let` between the braces of a record. Added when it is first read.
struct LetValue {
  const ast::Let* let = nullptr;
  bool isRunning = false;
  Value value;
};

/// A record. Amending copies the layers and adds one, so that the result
/// evaluates every field anew when it is read (late binding).
struct Object {
  const Schema* schema = nullptr;    // null: anonymous
  const Type* elementType = nullptr; // of the values of a `map[string, T]`
  std::vector<const Layer*> layers;
  std::vector<Slot> slots;
  Object* container = nullptr; // the record that holds it in a slot
  std::string_view key;        // of that slot
  SourceRange range;           // where it was made
  bool isChecked = false;
  /// A key that the schema lacks was reported. A missing field was probably
  /// meant by that key, so it is not reported.
  bool hasUnknownKey = false;
  std::vector<LetValue> letValues;
  std::vector<Definition> sweeps; // of a recipe, in the order of its layers

  Slot* find(std::string_view name);

private:
  /// Indices of slots by name. Used only for records with many slots.
  std::unordered_map<std::string_view, size_t> places;
};

// ---- files

/// A name that a file declares. Its value is evaluated when it is first read.
struct ModuleEntry {
  const ast::Declaration* declaration = nullptr;
  const ast::Selected* selected = nullptr; // of an import's selection
  enum class State { waiting, running, done } state = State::waiting;
  Value value;
  SourceRange nameRange;
};

struct Module {
  std::string path;
  const ast::File* file = nullptr;
  Module* fallback = nullptr; // of an override: the recipe's module
  Env env;
  std::vector<std::pair<std::string_view, ModuleEntry>> entries;
  std::unordered_map<std::string_view, size_t> places; // indices into `entries`
  /// Names that a misspelt import would have bound.
  std::vector<std::string> missing;

  ModuleEntry* find(std::string_view name);
  const ModuleEntry* find(std::string_view name) const;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_VALUE_H
