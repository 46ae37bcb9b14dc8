// Types: from how they are written to Type, and values into their form.

#include "compiler/sema/Evaluator.h"

#include "compiler/recipe/Format.h"

#include <algorithm>

namespace recipec::sema {
namespace {

struct BuiltinType {
  std::string_view name;
  Type::Kind kind;
  recipe::Unit unit = recipe::Unit::bytes;
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
};

bool isNumber(const Value& value) {
  return value.is<int64_t>() || value.is<double>() || value.is<DimRef>();
}

/// The alternatives of a type: the members of a union, or the type itself.
std::vector<const Type*> alternatives(const Type& type) {
  if (type.kind == Type::Kind::unionOf)
    return type.members;
  return {&type};
}

template <class Test> const Type* findAlternative(const Type& type, Test test) {
  for (const Type* candidate : alternatives(type))
    if (test(*candidate))
      return candidate;
  return nullptr;
}

} // namespace

// ---- from syntax
// -------------------------------------------------------------

const Type* Evaluator::resolveNamed(const Env& env, const ast::NamedType& node,
                                    SourceRange range) {
  Type& type = make<Type>();
  const ast::Name& first = node.path.front();
  if (node.path.size() == 1) {
    for (const BuiltinType& builtin : builtinTypes) {
      if (builtin.name != first.text)
        continue;
      type.kind = builtin.kind;
      type.unit = builtin.unit;
      return &type;
    }
  }
  // Types are named by the file; the fields of a record do not hide them.
  std::optional<Value> value = lookUp(first.text, env.module->env);
  if (!value) {
    std::vector<std::string> names = visibleNames(env.module->env);
    for (const BuiltinType& builtin : builtinTypes)
      names.emplace_back(builtin.name);
    auto builder = report(diag::Kind::UnknownName, first.range,
                          "there is no type `" + first.text + "`");
    builder.suggest(first.range, first.text, names);
    return &type;
  }
  for (size_t i = 1; i < node.path.size() && !value->isPoison(); ++i)
    value = memberOf(*value, node.path[i], range);
  if (value->isPoison())
    return &type;
  if (const Schema* const* schema = value->get<const Schema*>()) {
    type.kind = Type::Kind::schema;
    type.schema = *schema;
    return &type;
  }
  report(diag::Kind::WrongType, range,
         "`" + std::string(sources.text(range)) + "` is a `" +
             typeNameOf(*value) + "`, not a type");
  return &type;
}

const Type* Evaluator::resolve(const Env& env, ast::TypeId id) {
  auto [known, isNew] = types.try_emplace({env.file, id}, nullptr);
  if (!isNew && known->second)
    return known->second;
  const ast::Type& syntax = (*env.file)[id];
  const Type* result = nullptr;
  if (auto* named = std::get_if<ast::NamedType>(&syntax.node)) {
    result = resolveNamed(env, *named, syntax.range);
  } else {
    Type& type = make<Type>();
    result = &type;
    if (auto* literal = std::get_if<ast::StringType>(&syntax.node)) {
      type.kind = Type::Kind::literal;
      type.literal = literal->value;
    } else if (auto* list = std::get_if<ast::ListType>(&syntax.node)) {
      type.kind = Type::Kind::list;
      type.element = resolve(env, list->element);
    } else if (auto* map = std::get_if<ast::MapType>(&syntax.node)) {
      type.kind = Type::Kind::map;
      type.element = resolve(env, map->value);
    } else {
      type.kind = Type::Kind::unionOf;
      for (ast::TypeId member : std::get<ast::UnionType>(syntax.node).members)
        type.members.push_back(resolve(env, member));
    }
  }
  types[{env.file, id}] = result;
  return result;
}

// ---- names
// -------------------------------------------------------------------

std::string Evaluator::nameOf(const Type& type) {
  switch (type.kind) {
  case Type::Kind::quantity:
    return std::string(recipe::unitTypeName(type.unit));
  case Type::Kind::literal:
    return "\"" + type.literal + "\"";
  case Type::Kind::list:
    return "[" + nameOf(*type.element) + "]";
  case Type::Kind::map:
    return "map[string, " + nameOf(*type.element) + "]";
  case Type::Kind::schema:
    return std::string(type.schema->name);
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

std::string Evaluator::typeNameOf(const Value& value) {
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
      return object->schema ? std::string(object->schema->name) : "record";
    }
    std::string operator()(const Schema* schema) {
      return schema->isModel ? "model declaration" : "schema";
    }
    std::string operator()(Module*) { return "import"; }
    std::string operator()(Tensor) { return "tensor"; }
    std::string operator()(const Function*) { return "function"; }
    std::string operator()(const Block* block) {
      return block->isOp() ? "op" : "block";
    }
    std::string operator()(Builtin) { return "function"; }
  };
  return std::visit(Namer{}, value.data);
}

// ---- conversion
// --------------------------------------------------------------

std::optional<Value> Evaluator::convertList(const Value& value,
                                            const Type& type) {
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list)
    return std::nullopt;
  std::vector<Value> elements;
  elements.reserve((*list)->elements.size());
  for (const Value& element : (*list)->elements) {
    if (!takeStep(value.origin.range))
      return poison();
    std::optional<Value> converted = convert(element, *type.element);
    if (!converted)
      return std::nullopt;
    elements.push_back(std::move(*converted));
  }
  Value result = makeList(std::move(elements), value.origin.range);
  result.origin = value.origin;
  return result;
}

std::optional<Value> Evaluator::convertMap(const Value& value,
                                           const Type& type) {
  Object* const* object = value.get<Object*>();
  if (!object || (*object)->schema)
    return std::nullopt;
  for (Slot& slot : (*object)->slots) {
    const Value& element = force(**object, slot);
    if (element.isPoison())
      continue;
    std::optional<Value> converted = convert(element, *type.element);
    if (!converted)
      return std::nullopt;
    slot.value = std::move(*converted);
  }
  return value;
}

std::optional<Value> Evaluator::convertRecord(const Value& value,
                                              const Type& type) {
  if (const Schema* const* schema = value.get<const Schema*>()) {
    if (*schema != type.schema)
      return std::nullopt;
    return Value{makeObject(*schema, {}, value.origin.range), value.origin};
  }
  Object* const* object = value.get<Object*>();
  if (!object)
    return std::nullopt;
  if ((*object)->schema == type.schema)
    return value;
  if ((*object)->schema)
    return std::nullopt;
  return Value{makeObject(type.schema, (*object)->layers, (*object)->range),
               value.origin};
}

std::optional<Value> Evaluator::convert(const Value& value, const Type& type) {
  if (value.isPoison())
    return value;
  auto keepIf = [&](bool fits) {
    return fits ? std::optional<Value>(value) : std::nullopt;
  };
  const DimRef* dim = value.get<DimRef>();
  switch (type.kind) {
  case Type::Kind::unknown:
    return poison();
  case Type::Kind::any:
    return value;
  case Type::Kind::integer:
    return dim ? Value{dim->size, value.origin} : keepIf(value.is<int64_t>());
  case Type::Kind::real:
    if (dim)
      return Value{double(dim->size), value.origin};
    if (const int64_t* whole = value.get<int64_t>())
      return Value{double(*whole), value.origin};
    return keepIf(value.is<double>());
  case Type::Kind::dim:
    if (const int64_t* whole = value.get<int64_t>())
      return keepIf(*whole >= 1);
    return keepIf(dim != nullptr);
  case Type::Kind::boolean:
    return keepIf(value.is<bool>());
  case Type::Kind::string:
    return keepIf(value.is<std::string>());
  case Type::Kind::literal:
    return keepIf(value.is<std::string>() &&
                  *value.get<std::string>() == type.literal);
  case Type::Kind::quantity:
    return keepIf(value.is<recipe::Quantity>() &&
                  value.get<recipe::Quantity>()->unit == type.unit);
  case Type::Kind::tensor:
    return keepIf(value.is<Tensor>());
  case Type::Kind::mapping:
    return keepIf(value.is<const Mapping*>());
  case Type::Kind::none:
    return keepIf(value.is<recipe::None>());
  case Type::Kind::automatic:
    return keepIf(value.is<recipe::Auto>());
  case Type::Kind::list:
    return convertList(value, type);
  case Type::Kind::map:
    return convertMap(value, type);
  case Type::Kind::schema:
    return convertRecord(value, type);
  case Type::Kind::model: {
    if (const Schema* const* schema = value.get<const Schema*>())
      return (*schema)->isModel
                 ? std::optional<Value>(
                       Value{makeObject(*schema, {}, value.origin.range),
                             value.origin})
                 : std::nullopt;
    Object* const* object = value.get<Object*>();
    return keepIf(object && (*object)->schema && (*object)->schema->isModel);
  }
  case Type::Kind::unionOf:
    for (const Type* member : type.members)
      if (std::optional<Value> converted = convert(value, *member))
        return converted;
    return std::nullopt;
  }
  return std::nullopt;
}

// ---- mismatches
// --------------------------------------------------------------

bool Evaluator::reportUnitMismatch(const Value& value, const Type& type,
                                   SourceRange range, const std::string& what) {
  const Type* quantity = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::quantity;
  });
  const Type* number = findAlternative(type, [](const Type& candidate) {
    return candidate.kind == Type::Kind::integer ||
           candidate.kind == Type::Kind::real ||
           candidate.kind == Type::Kind::dim;
  });
  std::string start = what + " is of type `" + nameOf(type) + "`, and `" +
                      describe(value) + "` ";
  if (auto* given = value.get<recipe::Quantity>()) {
    if (!quantity && !number)
      return false;
    auto builder =
        report(diag::Kind::WrongUnit, range,
               start + "is of type `" +
                   std::string(recipe::unitTypeName(given->unit)) + "`");
    bool isCount = given->unit != recipe::Unit::bytes &&
                   given->unit != recipe::Unit::seconds;
    if (!quantity && isCount) {
      std::string plain = describe(value);
      plain.resize(plain.find(' '));
      builder.help("write `" + plain + "`, without a unit").fixIt(range, plain);
    }
    return true;
  }
  if (!quantity || !isNumber(value))
    return false;
  auto builder = report(diag::Kind::WrongUnit, range, start + "has no unit");
  switch (quantity->unit) {
  case recipe::Unit::bytes:
    builder.help("write a unit behind the number, as in `80GiB`");
    break;
  case recipe::Unit::seconds:
    builder.help("write a unit behind the number, as in `30min`");
    break;
  default: {
    std::string text = describe(value) + " " + nameOf(*quantity);
    builder.help("write `" + text + "`").fixIt(range, text);
  }
  }
  return true;
}

bool Evaluator::reportLiteralMismatch(const Value& value, const Type& type,
                                      SourceRange range,
                                      const std::string& what) {
  const std::string* given = value.get<std::string>();
  std::vector<std::string> literals;
  for (const Type* member : alternatives(type))
    if (member->kind == Type::Kind::literal)
      literals.push_back(member->literal);
  if (!given || literals.empty())
    return false;
  auto builder = report(diag::Kind::WrongType, range,
                        what + " is of type `" + nameOf(type) +
                            "`; it cannot be `\"" + *given + "\"`");
  builder.suggest(range, *given, literals, "\"");
  return true;
}

void Evaluator::reportMismatch(const Value& value, const Type& type,
                               SourceRange range, const std::string& what) {
  // Inside a list, the element is at fault.
  if (const ListValue* const* list = value.get<const ListValue*>()) {
    const Type* lists = findAlternative(type, [](const Type& candidate) {
      return candidate.kind == Type::Kind::list;
    });
    for (size_t i = 0; lists && i < (*list)->elements.size(); ++i) {
      const Value& element = (*list)->elements[i];
      if (convert(element, *lists->element))
        continue;
      SourceRange place = element.origin.range;
      bool isInside = place.source == range.source &&
                      place.begin >= range.begin && place.end <= range.end;
      reportMismatch(element, *lists->element, isInside ? place : range,
                     "element " + std::to_string(i) + " of " + what);
      return;
    }
  }
  if (reportUnitMismatch(value, type, range, what) ||
      reportLiteralMismatch(value, type, range, what))
    return;
  const int64_t* whole = value.get<int64_t>();
  if (type.kind == Type::Kind::dim && whole) {
    report(diag::Kind::InvalidValue, range,
           what + " is " + std::to_string(*whole) +
               "; a dimension is at least 1");
    return;
  }
  const double* real = value.get<double>();
  bool isWhole =
      type.kind == Type::Kind::integer || type.kind == Type::Kind::dim;
  if (real && isWhole) {
    report(diag::Kind::WrongType, range,
           what + " is of type `" + nameOf(type) + "`, and " +
               recipe::formatReal(*real) + " is a `float`");
    return;
  }
  auto builder =
      report(diag::Kind::WrongType, range,
             what + " is of type `" + nameOf(type) +
                 "`, and this is of type `" + typeNameOf(value) + "`");
  if (Module* const* module = value.get<Module*>();
      module && type.kind == Type::Kind::model)
    for (auto& [name, entry] : (*module)->entries)
      if (std::holds_alternative<ast::Let>(entry.declaration->node)) {
        builder.help("name one of its models, say `" +
                     std::string(sources.text(range)) + "." +
                     std::string(name) + "`");
        break;
      }
}

Value Evaluator::expect(const Value& value, const Type& type, SourceRange range,
                        const std::string& what) {
  if (std::optional<Value> converted = convert(value, type))
    return *converted;
  reportMismatch(value, type, range, what);
  return poison();
}

std::string Evaluator::describe(const Value& value) {
  if (value.is<std::string>() || value.is<recipe::None>() ||
      value.is<recipe::Auto>() || value.is<bool>() || value.is<int64_t>() ||
      value.is<double>() || value.is<recipe::Quantity>() || value.is<DimRef>())
    return recipe::formatValue(lower(value), {});
  if (const Range* range = value.get<Range>())
    return std::to_string(range->begin) + ".." + std::to_string(range->end);
  if (const ListValue* const* list = value.get<const ListValue*>();
      list && (*list)->elements.size() <= 8) {
    std::string text = "[";
    for (const Value& element : (*list)->elements)
      text += (text.size() > 1 ? ", " : "") +
              (element.is<const ListValue*>() ? "a list" : describe(element));
    return text + "]";
  }
  return "a " + typeNameOf(value);
}

} // namespace recipec::sema
