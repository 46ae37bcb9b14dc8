// Types: resolves written types to Type, and formats them as text.

#include "compiler/sema/types/Types.h"

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/BuiltinFunction.h"

namespace recipec::sema {
namespace {

struct BuiltinType {
  std::string_view name;
  Type::Kind kind;
  recipe::Unit unit = recipe::Unit::bytes;
  bool isElastic = false;
};

constexpr BuiltinType builtinTypes[] = {
    {"int", Type::Kind::integer},
    {"float", Type::Kind::real},
    {"bool", Type::Kind::boolean},
    {"string", Type::Kind::string},
    {"dim", Type::Kind::dim},
    {"bytes", Type::Kind::quantity, recipe::Unit::bytes},
    {"duration", Type::Kind::quantity, recipe::Unit::seconds},
    {"steps", Type::Kind::quantity, recipe::Unit::steps},
    {"epochs", Type::Kind::quantity, recipe::Unit::epochs},
    {"tokens", Type::Kind::quantity, recipe::Unit::tokens},
    {"tensor", Type::Kind::tensor},
    {"mapping", Type::Kind::mapping},
    {"any", Type::Kind::any},
    {"none", Type::Kind::none},
    {"auto", Type::Kind::automatic},
    {"model", Type::Kind::model},
    {"elastic_int", Type::Kind::integer, {}, true},
};

} // namespace

// ---- from syntax

/// Our name of a type of another language; empty if none.
static std::string_view ownTypeOf(std::string_view name) {
  static constexpr std::pair<std::string_view, std::string_view> types[] = {
      {"integer", "int"},       {"Integer", "int"},    {"Int", "int"},
      {"i32", "int"},           {"i64", "int"},        {"u32", "int"},
      {"u64", "int"},           {"usize", "int"},      {"int32", "int"},
      {"int64", "int"},         {"long", "int"},       {"Natural", "int"},
      {"number", "float"},      {"Number", "float"},   {"double", "float"},
      {"Double", "float"},      {"f32", "float"},      {"f64", "float"},
      {"Float", "float"},       {"str", "string"},     {"String", "string"},
      {"Text", "string"},       {"Path", "string"},    {"path", "string"},
      {"boolean", "bool"},      {"Boolean", "bool"},   {"Bool", "bool"},
      {"None", "none"},         {"null", "none"},      {"Any", "any"},
      {"Duration", "duration"}, {"DataSize", "bytes"}, {"Tensor", "tensor"},
  };
  for (const auto& [foreign, own] : types)
    if (foreign == name)
      return own;
  return {};
}

/// How a list or map of other languages is written, `dict`; empty for other
/// types.
static std::string_view collectionForm(std::string_view name) {
  for (std::string_view word : {"list", "List", "array", "Array", "tuple",
                                "Tuple", "set", "Set", "Sequence", "vector"})
    if (word == name)
      return "a list is written with the type of its elements: `[int]`";
  for (std::string_view word :
       {"dict", "Dict", "map", "Map", "object", "Object", "Mapping"})
    if (word == name)
      return "a map is written with the type of its values: `map[string, int]`";
  return {};
}

const Type* Types::resolveNamed(const Env& env, const ast::NamedType& node,
                                SourceRange range) {
  Type& type = evaluator.store.make<Type>();
  const ast::Name& first = node.path.front();
  if (node.path.size() == 1) {
    for (const BuiltinType& builtin : builtinTypes) {
      if (builtin.name != first.text)
        continue;
      type.kind = builtin.kind;
      type.unit = builtin.unit;
      type.isElastic = builtin.isElastic;
      return &type;
    }
  }
  // The file names types; the fields of a record do not hide them.
  std::optional<Value> value =
      evaluator.lookup.find(first.text, env.module->env);
  if (!value) {
    std::vector<std::string> names =
        evaluator.lookup.visibleNames(env.module->env);
    for (const BuiltinType& builtin : builtinTypes)
      names.emplace_back(builtin.name);
    auto builder =
        evaluator.messages.report(diag::Kind::UnknownName, first.range,
                                  "there is no type `" + first.text + "`");
    const std::string_view own = ownTypeOf(first.text);
    if (!own.empty())
      builder.help("write `" + std::string(own) + "`")
          .fixIt(first.range, std::string(own), diag::Applicability::safe);
    else if (const std::string_view form = collectionForm(first.text);
             !form.empty())
      builder.help(std::string(form));
    else if (!builder.suggest(first.range, first.text, names))
      builder.help("types are `dim`, `int`, `float`, `bool`, `string`, `[T]`, "
                   "units such as `bytes`, and names of schemas");
    return &type;
  }
  for (size_t i = 1; i < node.path.size() && !value->isPoison(); ++i)
    value = evaluator.lookup.memberOf(*value, node.path[i], range);
  if (value->isPoison())
    return &type;
  if (const Schema* const* schema = value->get<const Schema*>()) {
    type.kind = Type::Kind::schema;
    type.schema = *schema;
    return &type;
  }
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, range,
      "`" + std::string(evaluator.sources.text(range)) + "` is a `" +
          typeNameOf(*value) + "`, not a type");
  // `str` is a type of other languages, and a function here.
  if (const std::string_view own = ownTypeOf(first.text);
      !own.empty() && node.path.size() == 1)
    builder.help("write `" + std::string(own) + "`")
        .fixIt(range, std::string(own), diag::Applicability::safe);
  else
    builder.help(
        "types are `int`, `float`, `bool`, `string`, `[T]` and names of "
        "schemas");
  return &type;
}

struct Types::Resolution {
  Types& self;
  const Env& env;
  SourceRange range;

  Type& make(Type::Kind kind) const {
    return self.evaluator.store.make<Type>(Type::plain(kind));
  }
  const Type* operator()(const ast::NamedType& node) const {
    return self.resolveNamed(env, node, range);
  }
  const Type* operator()(const ast::StringType& node) const {
    Type& type = make(Type::Kind::literal);
    type.literal = node.value;
    return &type;
  }
  const Type* operator()(const ast::IntType& node) const {
    Type& type = make(Type::Kind::integerLiteral);
    type.number = node.value;
    return &type;
  }
  const Type* operator()(const ast::ListType& node) const {
    Type& type = make(Type::Kind::list);
    type.element = self.resolve(env, node.element);
    return &type;
  }
  const Type* operator()(const ast::MapType& node) const {
    const Type* key = self.resolve(env, node.key);
    bool isString =
        key->kind == Type::Kind::string || key->kind == Type::Kind::unknown;
    if (!isString)
      self.evaluator.messages
          .report(diag::Kind::WrongType, (*env.file)[node.key].range,
                  "the keys of a map are of type `string`, not `" +
                      nameOf(*key) + "`")
          .help("write `map[string, ...]`");
    Type& type = make(Type::Kind::map);
    type.element = self.resolve(env, node.value);
    return &type;
  }
  const Type* operator()(const ast::UnionType& node) const {
    Type& type = make(Type::Kind::unionOf);
    for (ast::TypeId id : node.members) {
      const Type* member = self.resolve(env, id);
      if (member->kind == Type::Kind::unionOf) // in parentheses
        type.members.insert(type.members.end(), member->members.begin(),
                            member->members.end());
      else
        type.members.push_back(member);
    }
    return &type;
  }
  const Type* operator()(const ast::FunctionType& node) const {
    Type& type = make(Type::Kind::function);
    for (ast::TypeId parameter : node.parameters)
      type.members.push_back(self.resolve(env, parameter));
    type.element = self.resolve(env, node.result);
    return &type;
  }
};

const Type* Types::resolve(const Env& env, ast::TypeId id) {
  auto [known, isNew] = resolved.try_emplace({env.file, id}, nullptr);
  if (!isNew && known->second)
    return known->second;
  const ast::Type& syntax = (*env.file)[id];
  const Type* result =
      std::visit(Resolution{*this, env, syntax.range}, syntax.node);
  resolved[{env.file, id}] = result;
  return result;
}

// ---- names

std::vector<const Type*> alternativesOf(const Type& type) {
  if (type.kind == Type::Kind::unionOf)
    return type.members;
  return {&type};
}

const Type* onlyCountOf(const Type& type) {
  std::vector<const Type*> members{&type};
  if (type.kind == Type::Kind::unionOf)
    members = type.members;
  const Type* only = nullptr;
  for (const Type* member : members) {
    const bool isCount = member->kind == Type::Kind::quantity &&
                         member->unit != recipe::Unit::bytes &&
                         member->unit != recipe::Unit::seconds;
    if (isCount && only)
      return nullptr;
    if (isCount)
      only = member;
  }
  return only;
}

const Schema* onlySchemaOf(const Type& type) {
  if (type.kind == Type::Kind::schema)
    return type.schema;
  const Schema* only = nullptr;
  for (const Type* member : type.members) {
    if (type.kind != Type::Kind::unionOf || member->kind != Type::Kind::schema)
      continue;
    if (only)
      return nullptr;
    only = member->schema;
  }
  return only;
}

std::vector<const Schema*> schemasOf(const Type& type) {
  if (type.kind == Type::Kind::schema)
    return {type.schema};
  std::vector<const Schema*> schemas;
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema)
      schemas.push_back(member->schema);
  return schemas;
}

std::string nameOf(const Type& type) {
  switch (type.kind) {
  case Type::Kind::quantity:
    return std::string(recipe::unitTypeName(type.unit));
  case Type::Kind::literal:
    return "\"" + type.literal + "\"";
  case Type::Kind::integerLiteral:
    return std::to_string(type.number);
  case Type::Kind::list:
    return "[" + nameOf(*type.element) + "]";
  case Type::Kind::map:
    return "map[string, " + nameOf(*type.element) + "]";
  case Type::Kind::schema:
    return std::string(type.schema->shownName());
  case Type::Kind::function: {
    std::string text = "fun(";
    for (const Type* parameter : type.members)
      text += (text.size() > 4 ? ", " : "") + nameOf(*parameter);
    bool isUnion = type.element->kind == Type::Kind::unionOf;
    std::string result = nameOf(*type.element);
    return text + "): " + (isUnion ? "(" + result + ")" : result);
  }
  case Type::Kind::unionOf: {
    std::string text;
    for (const Type* member : type.members)
      text += (text.empty() ? "" : " | ") + nameOf(*member);
    return text;
  }
  default:
    for (const BuiltinType& builtin : builtinTypes)
      if (builtin.kind == type.kind)
        return std::string(builtin.name);
    return "any";
  }
}

std::string typeNameOf(const Value& value) {
  struct Namer {
    std::string operator()(Poison) { return "unknown"; }
    std::string operator()(recipe::None) { return "none"; }
    std::string operator()(recipe::Auto) { return "auto"; }
    std::string operator()(bool) { return "bool"; }
    std::string operator()(int64_t) { return "int"; }
    std::string operator()(double) { return "float"; }
    std::string operator()(const std::string&) { return "string"; }
    std::string operator()(recipe::Quantity quantity) {
      return std::string(recipe::unitTypeName(quantity.unit));
    }
    std::string operator()(DimRef) { return "dim"; }
    std::string operator()(const Mapping*) { return "mapping"; }
    std::string operator()(Range) { return "range"; }
    std::string operator()(const ListValue*) { return "list"; }
    std::string operator()(Object* object) {
      return object->schema ? std::string(object->schema->shownName()) : "map";
    }
    std::string operator()(const Schema* schema) {
      return schema->isModel ? "model declaration" : "schema";
    }
    std::string operator()(Module*) { return "import"; }
    std::string operator()(Tensor) { return "tensor"; }
    std::string operator()(const Function*) { return "function"; }
    std::string operator()(const Mixin*) { return "mixin"; }
    std::string operator()(const Block* block) {
      return block->isOp() ? "op" : "block";
    }
    std::string operator()(Builtin) { return "function"; }
  };
  return std::visit(Namer{}, value.data);
}

std::string fullTypeNameOf(const SourceMap& sources, const Value& value) {
  if (const Builtin* builtin = value.get<Builtin>())
    return signatureOf(*builtin->function);
  const Function* const* function = value.get<const Function*>();
  if (!function)
    return typeNameOf(value);
  const ast::FunDecl& declaration = *(*function)->declaration;
  const ast::File& file = *(*function)->env->file;
  auto written = [&](ast::TypeId type) {
    return type == ast::TypeId::none
               ? std::string("any")
               : std::string(sources.text(file[type].range));
  };
  std::string text = "fun(";
  for (const ast::Parameter& parameter : declaration.parameters)
    text += (text.size() > 4 ? ", " : "") + written(parameter.type);
  return text + "): " + written(declaration.result);
}

} // namespace recipec::sema
