// Records: how layers become slots, and slots values.
//
// A slot is evaluated when it is first read:
// 1. Its value comes from the last layer that gives one, or else from the
//    schema's default. The default is evaluated among the fields of this
//    record, so that it follows the fields that any layer set (late binding).
// 2. Braces in later layers amend the value.
// 3. The value is converted to the field's type.
//
// `finish` then evaluates the remaining slots and checks `require`, in the
// order of the schema. Fields after a failed condition see poison, and report
// nothing.

#include "compiler/sema/records/Objects.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/MeantValues.h"
#include "compiler/sema/names/UnknownKeys.h"
#include "compiler/sema/records/Conditions.h"
#include "compiler/sema/records/FixedFields.h"
#include "compiler/sema/records/MissingMixin.h"
#include "compiler/sema/records/NoFields.h"
#include "compiler/sema/records/Replaced.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/Quotation.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// `lr = linear`, the name of a schema that needs arguments.
bool helpWithBareSchema(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object) {
  Slot* slot = object.container ? object.container->find(object.key) : nullptr;
  if (!slot || slot->chain.empty() || !slot->chain.front().isValue() ||
      slot->chain.front().member->given)
    return false;
  const ast::File& file = *slot->chain.front().layer->env->file;
  const ast::Expr& value = file[slot->chain.front().member->value];
  if (!std::holds_alternative<ast::NameRef>(value.node) || !object.schema ||
      object.layers.size() > 0)
    return false;
  const auto typing = std::exchange(evaluator.typing, {object.container, slot});
  const std::string example =
      exampleOf(evaluator, *object.schema,
                std::string(evaluator.sources.text(value.range)));
  evaluator.typing = typing;
  builder.help("write `" + example + "`").fixIt(value.range, example);
  return true;
}

/// An example for a missing field: the default of the field that holds its
/// record, if it has the same type. For example, `1e-4` for a schedule's peak.
std::string exampleForMissing(Evaluator& evaluator, const Object& object,
                              const Type& type) {
  Slot* slot = object.container ? object.container->find(object.key) : nullptr;
  if (!slot || type.kind != Type::Kind::real)
    return "...";
  const auto typing = std::exchange(evaluator.typing, {object.container, slot});
  const std::string example = defaultAsExample(evaluator, type);
  evaluator.typing = typing;
  return example.empty() ? "..." : example;
}

} // namespace

// ---- making

Object* Objects::make(const Schema* schema, std::vector<const Layer*> layers,
                      SourceRange range) {
  Object& object = evaluator.store.make<Object>();
  object.schema = schema;
  object.layers = std::move(layers);
  object.range = range;
  buildSlots(object);
  return &object;
}

void Objects::buildSlots(Object& object) {
  size_t count = object.schema ? object.schema->fields.size() : 0;
  for (const Layer* layer : object.layers)
    count += layer->members.size();
  if (!evaluator.limits.takeBytes(sizeof(Object) + count * sizeof(Slot),
                                  object.range))
    return;
  if (object.schema) {
    object.slots.reserve(object.schema->fields.size());
    for (const Field& field : object.schema->fields) {
      Slot slot;
      slot.name = field.declaration->name.text;
      slot.field = &field;
      object.slots.push_back(std::move(slot));
    }
  }
  for (const Layer* layer : object.layers)
    for (const Member& member : layer->members)
      addDefinition(object, *layer, member);
}

void Objects::addDefinition(Object& object, const Layer& layer,
                            const Member& member) {
  const ast::Name& name = member.path.front();
  if (name.text == sweepName && object.schema &&
      object.schema == evaluator.recipes.loadedSchema()) {
    object.sweeps.push_back({&layer, &member, 0});
    return;
  }
  Slot* slot = object.find(name.text);
  if (!slot) {
    if (object.schema) {
      object.hasUnknownKey = true;
      reportUnknownKey(evaluator, object, layer, member);
      return;
    }
    slot = &object.slots.emplace_back();
    slot->name = name.text;
  }
  Definition definition{&layer, &member, 0};
  if (definition.isValue())
    slot->chain.clear();
  slot->chain.push_back(definition);
}

Object* Objects::copyInto(const Object& object, Object& container,
                          std::string_view key) {
  Object* copy = make(object.schema, object.layers, object.range);
  copy->elementType = object.elementType;
  copy->container = &container;
  copy->key = key;
  return copy;
}

Object* Objects::amended(const Object& base, const Layer* layer,
                         SourceRange range) {
  std::vector<const Layer*> layers = base.layers;
  layers.push_back(layer);
  return make(base.schema, std::move(layers), range);
}

// ---- scopes

const Env* Objects::scopeOf(Object& object, const Layer& layer,
                            std::string_view defined) {
  if (!layer.isScope)
    return layer.env;
  Env& env = evaluator.store.make<Env>(*layer.env);
  env.outer = layer.env;
  env.object = &object;
  env.layer = &layer;
  env.locals = layer.locals;
  env.inBlock = false;
  env.defined = defined;
  return &env;
}

const Env* Objects::scopeOf(Object& object, const Definition& definition,
                            std::string_view defined) {
  if (definition.member->env)
    return definition.member->env;
  return scopeOf(object, *definition.layer, defined);
}

const Env* Objects::schemaScope(Object& object, std::string_view defined) {
  return scopeOf(object, object.schema->layer, defined);
}

bool Objects::isConstant(const ast::File& file, ast::ExprId id) {
  const auto& node = file[id].node;
  if (auto* text = std::get_if<ast::StringLiteral>(&node))
    return text->holes.empty();
  if (auto* unary = std::get_if<ast::Unary>(&node))
    return isConstant(file, unary->operand);
  if (auto* list = std::get_if<ast::ListExpr>(&node))
    return std::all_of(
        list->elements.begin(), list->elements.end(),
        [&](ast::ExprId element) { return isConstant(file, element); });
  if (auto* call = std::get_if<ast::Call>(&node))
    return std::all_of(call->arguments.begin(), call->arguments.end(),
                       [&](const ast::Argument& argument) {
                         return isConstant(file, argument.value);
                       });
  return std::holds_alternative<ast::KeywordLiteral>(node) ||
         std::holds_alternative<ast::IntLiteral>(node) ||
         std::holds_alternative<ast::FloatLiteral>(node) ||
         std::holds_alternative<ast::QuantityLiteral>(node) ||
         std::holds_alternative<ast::Amend>(node);
}

// ---- evaluating a slot

const Value& Objects::force(Object& object, Slot& slot) {
  if (slot.state == Slot::State::done)
    return slot.value;
  if (slot.state == Slot::State::running) {
    reportCycle(object, slot);
    slot.value = poison();
    return slot.value;
  }
  Limits::Level level(evaluator.limits);
  if (!evaluator.limits.takeStep(object.range))
    return slot.value;
  slot.state = Slot::State::running;
  running.push_back({&object, &slot});
  Value value = slotValue(object, slot);
  running.pop_back();
  slot.value = std::move(value);
  slot.state = Slot::State::done;
  return slot.value;
}

void Objects::labelChain(diag::Builder& builder, size_t most) const {
  size_t first = running.size() - std::min(running.size(), most);
  for (size_t i = first; i < running.size(); ++i)
    builder.label(running[i].object->range,
                  "through `" + std::string(running[i].slot->name) + "`");
  evaluator.modules.labelChain(builder, most);
}

std::optional<SlotOf> Objects::current() const {
  if (running.empty())
    return std::nullopt;
  return running.back();
}

void Objects::reportCycle(Object& object, Slot& slot) {
  auto placeOf = [](const Slot& slot) {
    if (!slot.chain.empty())
      return slot.chain.back().member->range;
    return slot.field ? slot.field->range : SourceRange{};
  };
  auto first =
      std::find_if(running.begin(), running.end(), [&](const auto& entry) {
        return entry.object == &object && entry.slot == &slot;
      });
  std::vector<CycleLink> links;
  for (auto at = first; at < running.end(); ++at)
    links.push_back(
        {evaluator.pathOf(*at->object, at->slot->name), placeOf(*at->slot)});
  auto builder = evaluator.messages.reportRecursion(links);
  for (auto at = first; at < running.end(); ++at) {
    SourceRange place;
    auto literal = bareLiteral(evaluator, *at->object, *at->slot, &place);
    if (!literal)
      continue;
    std::string quoted = "\"" + *literal + "\"";
    builder.help("write `" + quoted + "`, in quotation marks")
        .fixIt(place, quoted);
    return;
  }
  std::vector<std::string> names; // of the fields that can be set
  for (auto at = first; at < running.end(); ++at)
    if (!at->slot->field || !at->slot->field->declaration->isFixed)
      names.emplace_back(at->slot->name);
  constexpr size_t mostNamed = 3;
  if (links.size() > 1 && !names.empty())
    builder.help(
        "give " +
        (names.size() > mostNamed ? "one of them" : joinAlternatives(names)) +
        " a value of its own");
}

Value Objects::slotValue(Object& object, Slot& slot) {
  if (reportFixed(evaluator, object, slot))
    return poison();
  size_t first = 0;
  Value value;
  if (!slot.chain.empty() && slot.chain.front().isValue()) {
    value = definedValue(object, slot);
    first = 1;
    if (!value.isPoison())
      warnOfReplaced(evaluator, object, slot);
  } else {
    value = defaultValue(object, slot);
  }
  if (!value.isPoison() && first < slot.chain.size())
    value = amendSlot(object, slot, value, first);
  if (Object* const* inner = value.get<Object*>()) {
    Object* copy = copyInto(**inner, object, slot.name);
    SourceRange place =
        slot.chain.empty() ? object.range : slot.chain.back().member->range;
    if (evaluator.isLibrary(copy->range) && place.isValid())
      copy->range = place; // now part of the user's record
    value.data = copy;
  }
  if (value.is<const ListValue*>())
    return adoptElements(object, slot, value);
  return value;
}

Value Objects::adoptElements(Object& object, const Slot& slot,
                             const Value& list) {
  const std::vector<Value>& elements =
      (*list.get<const ListValue*>())->elements;
  bool hasRecords =
      std::any_of(elements.begin(), elements.end(),
                  [](const Value& each) { return each.is<Object*>(); });
  if (!hasRecords)
    return list;
  std::vector<Value> adopted = elements;
  for (size_t i = 0; i < adopted.size(); ++i) {
    Object* const* record = adopted[i].get<Object*>();
    if (!record)
      continue;
    std::string key = std::string(slot.name) + "[" + std::to_string(i) + "]";
    adopted[i].data =
        copyInto(**record, object,
                 evaluator.store.make<ast::Name>({std::move(key), {}}).text);
  }
  Value result = evaluator.makeList(std::move(adopted), list.origin.range);
  result.origin = list.origin;
  return result;
}

const Type* Objects::typeOf(const Object& object, const Slot& slot) {
  if (!slot.field)
    return object.elementType;
  return evaluator.types.resolve(*object.schema->layer.env,
                                 slot.field->declaration->type);
}

Value Objects::typedSlot(Object& object, Slot& slot, Value value,
                         SourceRange range) {
  const Type* type = typeOf(object, slot);
  if (!type || value.isPoison())
    return value;
  // `lr = "linear"` beside `warmup_ratio`: the report of that key covers both.
  if (object.hasUnknownKey && value.is<std::string>() &&
      !fits(evaluator, value, *type) &&
      isSetByKeys(evaluator, object, slot.name))
    return poison();
  recipe::Origin origin = value.origin;
  std::string what = "`" + evaluator.pathOf(object, slot.name) + "`";
  auto outer = std::exchange(evaluator.typing, {&object, &slot});
  Value typed = expect(evaluator, value, *type, range, what);
  evaluator.typing = outer;
  typed.origin = origin;
  if (type->kind == Type::Kind::dim && !typed.isPoison()) {
    const DimRef* other = typed.get<DimRef>();
    int64_t size = other ? other->size : *typed.get<int64_t>();
    typed.data = DimRef{&object, slot.name, size};
  }
  return typed;
}

Value Objects::definedValue(Object& object, Slot& slot) {
  const Definition& definition = slot.chain.front();
  const Member& member = *definition.member;
  const Env* env = scopeOf(object, definition, slot.name);
  Value value =
      member.given ? *member.given : evaluator.evaluate(member.value, *env);
  if (slot.field && isDataText(evaluator, value)) // for example `auto`
    value = convert(evaluator, value, *typeOf(object, slot)).value_or(value);
  // `auto` selects the schema's default.
  if (value.is<recipe::Auto>() && slot.field) {
    const ast::FieldDecl& declaration = *slot.field->declaration;
    const Type* type =
        evaluator.types.resolve(*object.schema->layer.env, declaration.type);
    if (convert(evaluator, value, *type) &&
        declaration.defaultValue != ast::ExprId::none)
      return defaultValue(object, slot);
  }
  if (member.given)
    return typedSlot(object, slot, std::move(value), member.range);
  SourceRange from = value.origin.range;
  if (from.isValid() && evaluator.isData(from.source))
    return typedSlot(object, slot, std::move(value), from);
  value.origin = evaluator.writtenAt(member.range);
  auto outer = std::exchange(evaluator.computed, {member.value, env});
  Value typed = typedSlot(object, slot, std::move(value),
                          (*env->file)[member.value].range);
  evaluator.computed = outer;
  return typed;
}

Value Objects::defaultValue(Object& object, Slot& slot) {
  SourceRange place =
      slot.chain.empty() ? object.range : slot.chain.back().member->range;
  if (!slot.field) { // braces that amend nothing make a record
    const Type* type = object.elementType;
    const Schema* schema = type ? type->schema : nullptr;
    return {make(schema, {}, place), evaluator.writtenAt(place)};
  }
  const ast::FieldDecl& declaration = *slot.field->declaration;
  if (declaration.defaultValue != ast::ExprId::none) {
    const Env* env = schemaScope(object, slot.name);
    ast::ExprId expr = declaration.defaultValue;
    Messages::Derivation derivation(evaluator.messages, object, &slot, expr);
    Value value = evaluator.evaluate(expr, *env);
    SourceRange range = (*env->file)[expr].range;
    value.origin = {isConstant(*env->file, expr)
                        ? recipe::Origin::Kind::defaultValue
                        : recipe::Origin::Kind::derived,
                    range};
    auto outer = std::exchange(evaluator.computed, {expr, env});
    value = typedSlot(object, slot, std::move(value), range);
    evaluator.computed = outer;
    return value;
  }
  const Type* type =
      evaluator.types.resolve(*object.schema->layer.env, declaration.type);
  // Braces after a field's name make the record that the field holds.
  if (type->kind == Type::Kind::schema && !slot.chain.empty()) {
    recipe::Origin origin{recipe::Origin::Kind::defaultValue,
                          slot.field->range};
    return {make(type->schema, {}, place), origin};
  }
  if (!object.hasUnknownKey)
    reportMissing(object, slot);
  return poison();
}

/// For a device described without amending another one, reports all missing
/// fields at once.
bool Objects::helpWithLibraryRecord(diag::Builder& builder, Object& object) {
  if (object.schema->isModel)
    return false;
  const std::vector<std::string> records =
      evaluator.library.recordsOf(*object.schema);
  std::vector<std::string> missing;
  for (const Slot& slot : object.slots)
    if (slot.field && slot.chain.empty() &&
        slot.field->declaration->defaultValue == ast::ExprId::none)
      missing.emplace_back(slot.name);
  const std::string written(evaluator.sources.text(object.range));
  const size_t brace = written.find('{');
  if (records.empty() || missing.size() < 2 || brace == written.npos)
    return false;
  builder.note(diag::quotedList(missing, missing.size()) + " are missing");
  builder.help(
      "give them, or amend what is like it in the library: write `" +
      records.front() + " " +
      (written.find('\n') == written.npos ? written.substr(brace) : "{ ... }") +
      "`");
  object.hasUnknownKey = true; // the others are missing for this cause
  return true;
}

void Objects::reportMissing(Object& object, Slot& slot) {
  if (evaluator.isPartial) {
    ++evaluator.missing;
    return;
  }
  std::string path = evaluator.pathOf(object, slot.name);
  const Type* type = evaluator.types.resolve(*object.schema->layer.env,
                                             slot.field->declaration->type);
  if (type->kind == Type::Kind::model && reportBracesOfNoModel(evaluator, slot))
    return;
  auto builder = evaluator.messages.report(
      diag::Kind::MissingField, object.range,
      "`" + path + "` is not set, and it has no default");
  builder.note("it is of type `" + nameOf(*type) + "`", slot.field->range);
  if (helpWithReplaced(evaluator, builder, object)) {
    object.hasUnknownKey = true; // the other fields are missing for this cause
    return;
  }
  if (helpWithLibraryRecord(builder, object))
    return;
  if (helpWithBareSchema(evaluator, builder, object) ||
      helpWithServingMixin(evaluator, builder, path))
    return;
  bool isSection = object.container && object.container->container == nullptr;
  std::string choices;
  if (type->kind == Type::Kind::schema)
    for (const std::string& name : evaluator.library.recordsOf(*type->schema))
      choices += (choices.empty() ? ", say `" : ", `") + name + "`";
  // The braces of a model declared by a `let` are elsewhere in the file.
  const std::string_view written = evaluator.sources.text(object.range);
  const size_t brace = written.find('{');
  const bool isElsewhere = isSection && object.schema->isModel &&
                           brace != written.npos &&
                           !written.starts_with(object.key);
  if (isElsewhere)
    builder.help("add `" + std::string(slot.name) +
                 " = ...` between the braces of `" +
                 std::string(written.substr(
                     0, written.find_last_not_of(" \n", brace - 1) + 1)) +
                 " { ... }`");
  else if (isSection)
    builder.help("add `" + std::string(object.key) + " { " +
                 std::string(slot.name) + " = ... }`" + choices);
  else
    builder.help("add `" + std::string(slot.name) + " = " +
                 exampleForMissing(evaluator, object, *type) + "`" + choices);
}

/// Adds a layer for the braces of each definition from `first` on. Returns
/// false when one is broken.
bool Objects::addLayers(Object& object, const Slot& slot, size_t first,
                        bool hasSchema, std::vector<const Layer*>& layers) {
  for (size_t i = first; i < slot.chain.size(); ++i) {
    const Definition& definition = slot.chain[i];
    const Env* env = scopeOf(object, definition);
    bool isTail = definition.depth + 1 < definition.member->path.size();
    layers.push_back(isTail ? evaluator.layers.ofTail(*env, definition)
                            : evaluator.layers.ofBody(
                                  *env, definition.member->body, hasSchema));
    if (layers.back()->isBroken)
      return false;
  }
  return true;
}

/// Reports braces that amend a value without fields.
void Objects::reportNoFields(Object& object, const Slot& slot,
                             const Value& base, size_t first) {
  const SourceRange range = slot.chain.back().member->range;
  std::vector<const Layer*> layers;
  std::optional<Suggestion> list;
  if (const Type* type = typeOf(object, slot);
      type && addLayers(object, slot, first, false, layers))
    list = withoutNames(evaluator, {make(nullptr, layers, range), {}}, *type,
                        range);
  sema::reportNoFields(evaluator, object, slot, base, list ? &*list : nullptr);
}

Value Objects::amendSlot(Object& object, Slot& slot, const Value& base,
                         size_t first) {
  const Member& last = *slot.chain.back().member;
  Object* record = nullptr;
  if (Object* const* inner = base.get<Object*>()) {
    record = *inner;
  } else if (const Schema* const* schema = base.get<const Schema*>()) {
    record = make(*schema, {}, last.range);
  } else if (slot.field &&
             (base.is<recipe::None>() || base.is<recipe::Auto>())) {
    // `rope_scaling { factor = 8 }` amends `none`: make the only record that
    // the field may hold.
    const Type* type = evaluator.types.resolve(*object.schema->layer.env,
                                               slot.field->declaration->type);
    if (const Schema* only = onlySchemaOf(*type))
      record = make(only, {}, last.range);
  }
  if (!record) {
    reportNoFields(object, slot, base, first);
    return poison();
  }
  std::vector<const Layer*> layers = record->layers;
  if (!addLayers(object, slot, first, record->schema != nullptr, layers))
    return poison();
  Value result{make(record->schema, std::move(layers), last.range),
               evaluator.writtenAt(last.range)};
  // The field that holds a map gives the types of its values.
  return record->schema
             ? result
             : typedSlot(object, slot, std::move(result), last.range);
}

// ---- completeness

void Objects::finishValue(const Value& value) {
  Limits::Level level(evaluator.limits);
  if (Object* const* object = value.get<Object*>()) {
    finish(**object);
    return;
  }
  if (const ListValue* const* list = value.get<const ListValue*>())
    for (const Value& element : (*list)->elements)
      if (evaluator.limits.takeStep(element.origin.range))
        finishValue(element);
}

void Objects::finish(Object& object) {
  if (object.isChecked)
    return;
  object.isChecked = true;
  Limits::Level level(evaluator.limits);
  if (!evaluator.limits.takeStep(object.range))
    return;
  if (!object.schema) {
    for (Slot& slot : object.slots)
      finishValue(force(object, slot));
    return;
  }
  for (const ast::Item& item : object.schema->body->items) {
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node)) {
      if (Slot* slot = object.find(field->name.text))
        finishValue(force(object, *slot));
    } else if (auto* require = std::get_if<ast::Require>(&item.node)) {
      checkCondition(evaluator, object, checkOwnSchema, *require, item.range);
    }
  }
  for (size_t i = 0; i < object.layers.size(); ++i) {
    const Layer& layer = *object.layers[i];
    for (const ast::Let* let : layer.lets)
      finishValue(evaluator.lookup.letValue(*let, *scopeOf(object, layer)));
    for (const ast::Require* require : layer.conditions)
      checkCondition(evaluator, object, i, *require,
                     (*layer.env->file)[require->condition].range);
  }
}

} // namespace recipec::sema
