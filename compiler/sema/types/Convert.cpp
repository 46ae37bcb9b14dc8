// Converts values to a type.
//
// Reports nothing: a value that does not fit gives nullopt, and Mismatch says
// why. In a union, the alternative with the value's own type is preferred.
// Among several record types, the one that fits the record's keys best is
// chosen, so that a wrong field is reported as such.

#include "compiler/sema/types/Convert.h"

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/modules/DataText.h"
#include "compiler/sema/types/ElasticInt.h"
#include "compiler/sema/values/BuiltinFunction.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

/// One unknown key weighs more than any number of missing fields.
constexpr int64_t unknownKeyDistance = 1000;

bool isWholeAmount(const recipe::Quantity& quantity) {
  return !recipe::isWhole(quantity.unit) ||
         std::floor(quantity.amount) == quantity.amount;
}

/// Whether every value of `narrow` is a value of `wide` or converts to one.
bool isWithin(const Type& narrow, const Type& wide) {
  using Kind = Type::Kind;
  if (wide.kind == Kind::any || wide.kind == Kind::unknown ||
      narrow.kind == Kind::unknown)
    return true;
  if (narrow.kind == Kind::unionOf)
    return std::all_of(
        narrow.members.begin(), narrow.members.end(),
        [&](const Type* member) { return isWithin(*member, wide); });
  if (wide.kind == Kind::unionOf)
    return std::any_of(
        wide.members.begin(), wide.members.end(),
        [&](const Type* member) { return isWithin(narrow, *member); });
  bool isInteger = narrow.kind == Kind::integer || narrow.kind == Kind::dim ||
                   narrow.kind == Kind::integerLiteral;
  switch (wide.kind) {
  case Kind::real:
    return isInteger || narrow.kind == Kind::real;
  case Kind::integer:
    return isInteger;
  case Kind::string:
    return narrow.kind == Kind::string || narrow.kind == Kind::literal;
  case Kind::literal:
    return narrow.kind == Kind::literal && narrow.literal == wide.literal;
  case Kind::integerLiteral:
    return narrow.kind == Kind::integerLiteral && narrow.number == wide.number;
  case Kind::quantity:
    return narrow.kind == Kind::quantity && narrow.unit == wide.unit;
  case Kind::list:
  case Kind::map:
    return narrow.kind == wide.kind && isWithin(*narrow.element, *wide.element);
  case Kind::schema:
    return narrow.kind == Kind::schema && narrow.schema == wide.schema;
  case Kind::model:
    return narrow.kind == Kind::model ||
           (narrow.kind == Kind::schema && narrow.schema->isModel);
  case Kind::function:
    return narrow.kind == Kind::function &&
           narrow.members.size() == wide.members.size() &&
           std::equal(narrow.members.begin(), narrow.members.end(),
                      wide.members.begin(),
                      [](const Type* taken, const Type* given) {
                        return isWithin(*given, *taken);
                      }) &&
           isWithin(*narrow.element, *wide.element);
  default:
    return narrow.kind == wide.kind;
  }
}

// ---- lists and records

std::optional<Value> convertList(Evaluator& evaluator, const Value& value,
                                 const Type& type) {
  const ListValue* const* list = value.get<const ListValue*>();
  const Range* range = value.get<Range>();
  if (range && convert(evaluator, {int64_t(0), {}}, *type.element)) {
    std::optional<std::vector<Value>> numbers =
        evaluator.elementsOf(value, value.origin.range);
    Value made =
        numbers ? evaluator.makeList(std::move(*numbers), value.origin.range)
                : poison();
    return made.isPoison() ? made : convertList(evaluator, made, type);
  }
  if (!list)
    return std::nullopt;
  Limits::Level level(evaluator.limits);
  std::vector<Value> elements;
  elements.reserve((*list)->elements.size());
  for (const Value& element : (*list)->elements) {
    if (!evaluator.limits.takeStep(value.origin.range))
      return poison();
    std::optional<Value> converted = convert(evaluator, element, *type.element);
    if (!converted)
      return std::nullopt;
    elements.push_back(std::move(*converted));
  }
  Value result = evaluator.makeList(std::move(elements), value.origin.range);
  result.origin = value.origin;
  return result;
}

std::optional<Value> convertMap(Evaluator& evaluator, const Value& value,
                                const Type& type) {
  Object* const* object = value.get<Object*>();
  if (!object || (*object)->schema)
    return std::nullopt;
  if ((*object)->elementType == type.element)
    return value;
  // The values of the map are converted on first read.
  Object* map =
      evaluator.objects.make(nullptr, (*object)->layers, (*object)->range);
  map->elementType = type.element;
  return Value{map, value.origin};
}

std::optional<Value> convertRecord(Evaluator& evaluator, const Value& value,
                                   const Type& type) {
  if (const Schema* const* schema = value.get<const Schema*>()) {
    if (*schema != type.schema)
      return std::nullopt;
    return Value{evaluator.objects.make(*schema, {}, value.origin.range),
                 value.origin};
  }
  Object* const* object = value.get<Object*>();
  if (!object)
    return std::nullopt;
  if ((*object)->schema == type.schema)
    return value;
  if ((*object)->schema)
    return std::nullopt;
  return Value{
      evaluator.objects.make(type.schema, (*object)->layers, (*object)->range),
      value.origin};
}

std::optional<Value> convertModel(Evaluator& evaluator, const Value& value) {
  if (const Schema* const* schema = value.get<const Schema*>()) {
    if (!(*schema)->isModel)
      return std::nullopt;
    return Value{evaluator.objects.make(*schema, {}, value.origin.range),
                 value.origin};
  }
  Object* const* object = value.get<Object*>();
  if (object && (*object)->schema && (*object)->schema->isModel)
    return value;
  return std::nullopt;
}

// ---- functions

bool keepsContract(Evaluator& evaluator, const Function& function,
                   const Type& type) {
  const std::vector<ast::Parameter>& parameters =
      function.declaration->parameters;
  size_t given = type.members.size();
  if (given > parameters.size())
    return false;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ast::Parameter& parameter = parameters[i];
    if (i >= given) {
      if (parameter.defaultValue == ast::ExprId::none)
        return false;
      continue;
    }
    if (parameter.type != ast::TypeId::none &&
        !isWithin(*type.members[i],
                  *evaluator.types.resolve(*function.env, parameter.type)))
      return false;
  }
  ast::TypeId result = function.declaration->result;
  return result == ast::TypeId::none ||
         isWithin(*evaluator.types.resolve(*function.env, result),
                  *type.element);
}

std::optional<Value> convertFunction(Evaluator& evaluator, const Value& value,
                                     const Type& type) {
  if (const Builtin* builtin = value.get<Builtin>())
    return takesArguments(*builtin->function, type.members.size())
               ? std::optional<Value>(value)
               : std::nullopt;
  const Function* const* function = value.get<const Function*>();
  if (!function || !keepsContract(evaluator, **function, type))
    return std::nullopt;
  Function passed = **function;
  passed.contract = &type;
  return Value{&std::as_const(evaluator.store.make<Function>(passed)),
               value.origin};
}

// ---- unions

int64_t distanceTo(Evaluator& evaluator, Object& object, const Schema& schema) {
  int64_t distance = 0;
  for (Slot& slot : object.slots) {
    const Field* field = schema.find(slot.name);
    if (!field) {
      distance += unknownKeyDistance;
      continue;
    }
    // Literals distinguish record types: `kind : "moe"`.
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field->declaration->type);
    bool isLiteral = type.kind == Type::Kind::literal ||
                     type.kind == Type::Kind::integerLiteral;
    if (isLiteral &&
        !convert(evaluator, evaluator.objects.force(object, slot), type))
      distance += unknownKeyDistance;
  }
  for (const Field& field : schema.fields) {
    const ast::FieldDecl& declaration = *field.declaration;
    bool isMissing = declaration.defaultValue == ast::ExprId::none &&
                     !declaration.isFixed &&
                     !object.find(declaration.name.text);
    distance += isMissing;
  }
  return distance;
}

const Type* nearestRecord(Evaluator& evaluator, Object& object,
                          const Type& type) {
  const Type* nearest = nullptr;
  int64_t least = 0;
  for (const Type* member : type.members) {
    bool isMap = member->kind == Type::Kind::map;
    if (!isMap && member->kind != Type::Kind::schema)
      continue;
    // Prefer a map to a record type that lacks one of the keys.
    int64_t distance = isMap ? unknownKeyDistance - 1
                             : distanceTo(evaluator, object, *member->schema);
    if (nearest && distance >= least)
      continue;
    nearest = member;
    least = distance;
  }
  return nearest;
}

std::optional<Value> convertUnion(Evaluator& evaluator, const Value& value,
                                  const Type& type) {
  Object* const* object = value.get<Object*>();
  if (object && !(*object)->schema) {
    const Type* nearest = nearestRecord(evaluator, **object, type);
    return nearest ? convert(evaluator, value, *nearest) : std::nullopt;
  }
  // A string of a data file stays a string if the union allows it.
  if (isDataText(evaluator, value))
    for (const Type* member : type.members)
      if (member->kind != Type::Kind::quantity &&
          member->kind != Type::Kind::automatic)
        if (std::optional<Value> converted = convert(evaluator, value, *member))
          return converted;
  // An `int` stays an `int` if the union allows it.
  if (value.is<int64_t>())
    for (const Type* member : type.members)
      if (member->kind == Type::Kind::integer)
        return value;
  for (const Type* member : type.members)
    if (std::optional<Value> converted = convert(evaluator, value, *member))
      return converted;
  return std::nullopt;
}

} // namespace

// ---- data

bool isDataText(const Evaluator& evaluator, const Value& value) {
  SourceRange range = value.origin.range;
  return value.is<std::string>() && range.isValid() &&
         evaluator.isData(range.source);
}

/// Parses a string of a data file as a quantity or `auto`, which YAML and JSON
/// lack.
static Value fromDataText(const Value& value, const Type& type) {
  const std::string& text = *value.get<std::string>();
  if (type.kind == Type::Kind::automatic && text == "auto")
    return {recipe::Auto{}, value.origin};
  if (type.kind == Type::Kind::quantity)
    if (std::optional<recipe::Quantity> quantity = quantityOf(text))
      return {*quantity, value.origin};
  return value;
}

// ---- all types

std::optional<Value> convert(Evaluator& evaluator, const Value& given,
                             const Type& type) {
  Value read;
  if (isDataText(evaluator, given))
    read = fromDataText(given, type);
  const Value& value = read.isPoison() ? given : read;
  if (value.isPoison())
    return value;
  auto keepIf = [&](bool fits) {
    return fits ? std::optional<Value>(value) : std::nullopt;
  };
  const DimRef* dim = value.get<DimRef>();
  const int64_t* whole = value.get<int64_t>();
  switch (type.kind) {
  case Type::Kind::unknown:
    return poison();
  case Type::Kind::any:
    return value;
  case Type::Kind::integer:
    if (type.isElastic && isCounts(value))
      return (*value.get<const ListValue*>())->elements.front();
    return dim ? Value{dim->size, value.origin} : keepIf(whole);
  case Type::Kind::integerLiteral:
    if (dim && dim->size == type.number)
      return Value{dim->size, value.origin};
    return keepIf(whole && *whole == type.number);
  case Type::Kind::real:
    if (dim)
      return Value{double(dim->size), value.origin};
    return whole ? Value{double(*whole), value.origin}
                 : keepIf(value.is<double>());
  case Type::Kind::dim:
    return keepIf(dim || (whole && *whole >= 1));
  case Type::Kind::boolean:
    return keepIf(value.is<bool>());
  case Type::Kind::string:
    return keepIf(value.is<std::string>());
  case Type::Kind::literal:
    return keepIf(value.is<std::string>() &&
                  *value.get<std::string>() == type.literal);
  case Type::Kind::quantity: {
    auto* quantity = value.get<recipe::Quantity>();
    return keepIf(quantity && quantity->unit == type.unit &&
                  isWholeAmount(*quantity));
  }
  case Type::Kind::tensor:
    return keepIf(value.is<Tensor>());
  case Type::Kind::mapping:
    return keepIf(value.is<const Mapping*>());
  case Type::Kind::none:
    return keepIf(value.is<recipe::None>());
  case Type::Kind::automatic:
    return keepIf(value.is<recipe::Auto>());
  case Type::Kind::list:
    return convertList(evaluator, value, type);
  case Type::Kind::map:
    return convertMap(evaluator, value, type);
  case Type::Kind::schema:
    return convertRecord(evaluator, value, type);
  case Type::Kind::model:
    return convertModel(evaluator, value);
  case Type::Kind::function:
    return convertFunction(evaluator, value, type);
  case Type::Kind::unionOf:
    return convertUnion(evaluator, value, type);
  }
  return std::nullopt;
}

// ---- `is`

static bool recordFits(Evaluator& evaluator, Object& object, const Type& type) {
  bool isMap = type.kind == Type::Kind::map;
  if (!isMap && type.kind != Type::Kind::schema)
    return type.kind == Type::Kind::any;
  if (!isMap && distanceTo(evaluator, object, *type.schema) > 0)
    return false;
  return std::all_of(object.slots.begin(), object.slots.end(), [&](Slot& slot) {
    const Type* due = type.element;
    if (!isMap)
      due = evaluator.types.resolve(
          *type.schema->layer.env,
          type.schema->find(slot.name)->declaration->type);
    return fits(evaluator, evaluator.objects.force(object, slot), *due);
  });
}

bool fits(Evaluator& evaluator, const Value& value, const Type& type) {
  Limits::Level level(evaluator.limits);
  if (!evaluator.limits.takeStep(value.origin.range))
    return false;
  auto fitsOne = [&](const Type* member) {
    return fits(evaluator, value, *member);
  };
  if (type.kind == Type::Kind::unionOf)
    return std::any_of(type.members.begin(), type.members.end(), fitsOne);
  const ListValue* const* list = value.get<const ListValue*>();
  if (list && type.kind == Type::Kind::list)
    return std::all_of((*list)->elements.begin(), (*list)->elements.end(),
                       [&](const Value& element) {
                         return fits(evaluator, element, *type.element);
                       });
  // Conversion to a map defers its values to their first read. Check them now,
  // without reports.
  Object* const* object = value.get<Object*>();
  if (object && !(*object)->schema)
    return recordFits(evaluator, **object, type);
  return convert(evaluator, value, type).has_value();
}

} // namespace recipec::sema
