// Follows a path and takes its value apart; see Explain.h for the steps.

#include "compiler/sema/recipes/Explain.h"

#include "compiler/recipe/Format.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/MeantPaths.h"
#include "compiler/sema/names/OtherNames.h"
#include "compiler/sema/recipes/History.h"
#include "compiler/sema/recipes/Sweep.h"
#include "compiler/sema/records/Operands.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/Lower.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace recipec::sema {
namespace {

using OriginKind = recipe::Origin::Kind;

/// The field or list element at the end of a path.
struct Target {
  Object* object = nullptr;
  Slot* slot = nullptr;
  Value value;
  const Type* type = nullptr;     // null when no schema gives it
  std::vector<std::string> names; // of the path, up to the first element
  bool isElement = false;
};

/// The expression that gave a field its value.
struct Source {
  ast::ExprId expr = ast::ExprId::none;
  const Env* env = nullptr;
};

class Explainer {
public:
  Explainer(const SourceMap& sources, const Request& request, Loader& loader,
            diag::Engine& engine)
      : request(request), engine(engine), evaluator(sources, loader, found) {}

  std::optional<Explanation> run(const std::vector<PathStep>& path);

private:
  Object* settings();
  std::optional<Target> follow(Object& settings,
                               const std::vector<PathStep>& path);
  bool takeName(Target& target, const std::string& name, SourceRange range);
  bool takeIndex(Target& target, int64_t index, SourceRange range);
  std::optional<bool> isSet(const std::string& path);
  void helpWithPath(diag::Builder& builder, const Target& target,
                    const Object& object, const std::string& name,
                    SourceRange range, const std::vector<std::string>& fields);
  void reportNone(const Target& target, SourceRange range,
                  std::string_view what);
  Source sourceOf(Object& object, Slot& slot);
  bool isInRecipe(const Object& object) const;
  std::string expressionOf(const Source& source) const;
  std::vector<Explanation::Operand> operandsOf(const Source& source);
  std::string textOf(const Value& value);
  std::vector<Explanation::Field> fieldsOf(Object& object);
  const ast::Comments* commentsOf(const Target& target) const;

  const Request& request;
  diag::Engine& engine;
  /// Receives errors elsewhere in the recipe, which `check` reports.
  diag::Engine found;
  Evaluator evaluator;
  std::set<const Slot*> expanded;
  std::vector<std::string> wanted; // the names of the path, up to an element
};

Object* Explainer::settings() {
  const ast::RecipeDecl* declaration =
      findRecipe(*request.file, request.recipe);
  Module* module = evaluator.modules.open(*request.file);
  if (!module || !declaration)
    return nullptr;
  evaluator.recipeRange = declaration->name.range;
  std::string name = declaration->name.text;
  return requestedSettings(evaluator, request, *declaration, *module, name);
}

// ---- the path

void Explainer::reportNone(const Target& target, SourceRange range,
                           std::string_view what) {
  auto builder = engine.report(diag::Kind::WrongType, range,
                               "a value of type `" + typeNameOf(target.value) +
                                   "` has no " + std::string(what));
  std::string path;
  for (const std::string& name : target.names)
    path += (path.empty() ? "" : ".") + name;
  if (!path.empty())
    builder.help("write `" + path + "` alone, which is `" +
                 textOf(target.value) + "`");
}

bool Explainer::takeName(Target& target, const std::string& name,
                         SourceRange range) {
  Object* const* record = target.value.get<Object*>();
  if (!record) {
    reportNone(target, range, "fields");
    return false;
  }
  Object* object = *record;
  Slot* slot = object->find(name);
  if (!slot) {
    std::string owner =
        object->schema ? std::string(object->schema->name) : "this record";
    std::vector<std::string> names;
    for (const Slot& each : object->slots)
      names.emplace_back(each.name);
    auto builder = engine.report(diag::Kind::UnknownKey, range,
                                 "`" + owner + "` has no field `" + name + "`");
    helpWithPath(builder, target, *object, name, range, names);
    return false;
  }
  target.object = object;
  target.slot = slot;
  target.value = evaluator.objects.force(*object, *slot);
  target.type = object->elementType;
  if (slot->field)
    target.type = evaluator.types.resolve(*object->schema->layer.env,
                                          slot->field->declaration->type);
  if (!target.isElement)
    target.names.push_back(name);
  return true;
}

/// Whether a path leads to a field of the recipe, and the layers set it.
std::optional<bool> Explainer::isSet(const std::string& path) {
  Object* object = evaluator.root;
  Slot* slot = nullptr;
  for (const std::string& name : namesOfPath(path)) {
    if (slot) {
      Object* const* inner =
          evaluator.objects.force(*object, *slot).get<Object*>();
      if (!inner)
        return std::nullopt;
      object = *inner;
    }
    slot = object->find(name);
    if (!slot)
      return std::nullopt;
  }
  return !slot->chain.empty();
}

/// Helps with a path in which `object` has no field `name`.
void Explainer::helpWithPath(diag::Builder& builder, const Target& target,
                             const Object& object, const std::string& name,
                             SourceRange range,
                             const std::vector<std::string>& fields) {
  std::vector<std::string> path = target.names;
  path.push_back(name);
  for (size_t i = path.size(); i < wanted.size(); ++i)
    path.push_back(wanted[i]);
  const auto own = object.schema && &object != evaluator.root
                       ? fieldKnownAs(evaluator, *object.schema, name)
                       : std::nullopt;
  std::vector<std::string> set, others;
  if (!own)
    for (const std::string& meant : pathsMeant(evaluator, path))
      if (const std::optional<bool> isGiven = isSet(meant))
        (*isGiven ? set : others).push_back(meant);
  set.insert(set.end(), others.begin(), others.end());
  const Schema* recipes = evaluator.recipes.loadedSchema();
  const auto known = own       ? own
                     : recipes ? fieldKnownAs(evaluator, *recipes, path.back(),
                                              object.schema != recipes)
                               : std::nullopt;
  const bool isKnown = known && (known->isFixed || known->path.empty() ||
                                 !known->values.empty());
  if (!set.empty() && !isKnown)
    builder.help("did you mean " + joinAlternatives(set) + "?");
  else if (known)
    builder.help(helpFor(*known));
  else
    builder.suggestOrList(range, name, fields, "its fields are ");
}

bool Explainer::takeIndex(Target& target, int64_t index, SourceRange range) {
  const ListValue* const* list = target.value.get<const ListValue*>();
  if (!list) {
    reportNone(target, range, "elements");
    return false;
  }
  int64_t count = int64_t((*list)->elements.size());
  if (index < 0 || index >= count) {
    engine
        .report(diag::Kind::InvalidValue, range,
                "there is no element " + std::to_string(index) +
                    " in a list of " + std::to_string(count))
        .help(count == 0 ? "leave the index out"
                         : "its indices are 0 to " + std::to_string(count - 1));
    return false;
  }
  Value element = (*list)->elements[size_t(index)];
  target.value = std::move(element);
  bool hasType = target.type && target.type->kind == Type::Kind::list;
  target.type = hasType ? target.type->element : nullptr;
  target.isElement = true;
  return true;
}

std::optional<Target> Explainer::follow(Object& settings,
                                        const std::vector<PathStep>& path) {
  Target target;
  target.value = {&settings, {}};
  for (const PathStep& step : path) {
    auto* name = std::get_if<std::string>(&step.key);
    bool isThere =
        name ? takeName(target, *name, step.range)
             : takeIndex(target, std::get<int64_t>(step.key), step.range);
    if (!isThere)
      return std::nullopt;
    if (target.value.isPoison() && &step != &path.back()) {
      engine.append(found);
      return std::nullopt;
    }
  }
  return target;
}

// ---- the value

Source Explainer::sourceOf(Object& object, Slot& slot) {
  OriginKind kind = slot.value.origin.kind;
  bool isOwn = kind == OriginKind::written || kind == OriginKind::commandLine;
  if (isOwn && !slot.chain.empty() && slot.chain.front().isValue()) {
    const Definition& definition = slot.chain.front();
    if (definition.member->given)
      return {};
    return {definition.member->value,
            evaluator.objects.scopeOf(object, definition, slot.name)};
  }
  bool hasDefault =
      slot.field && slot.field->declaration->defaultValue != ast::ExprId::none;
  if (isOwn || !hasDefault)
    return {};
  return {slot.field->declaration->defaultValue,
          evaluator.objects.schemaScope(object, slot.name)};
}

bool Explainer::isInRecipe(const Object& object) const {
  const Object* at = &object;
  while (at->container)
    at = at->container;
  return at == evaluator.root;
}

std::string Explainer::expressionOf(const Source& source) const {
  if (source.expr == ast::ExprId::none ||
      Objects::isConstant(*source.env->file, source.expr))
    return "";
  return std::string(
      evaluator.sources.text((*source.env->file)[source.expr].range));
}

std::vector<Explanation::Operand> Explainer::operandsOf(const Source& source) {
  std::vector<Explanation::Operand> operands;
  if (expressionOf(source).empty())
    return operands;
  for (sema::Operand& each :
       directOperands(evaluator, source.expr, *source.env)) {
    Explanation::Operand operand;
    bool isField = each.slot && isInRecipe(*each.object);
    operand.name =
        isField ? evaluator.pathOf(*each.object, each.slot->name) : each.text;
    operand.value = textOf(each.value);
    operand.origin = each.value.origin;
    // Expand each operand only once, even if it is used twice.
    if (each.slot && expanded.insert(each.slot).second) {
      Source inner = sourceOf(*each.object, *each.slot);
      operand.expression = expressionOf(inner);
      operand.operands = operandsOf(inner);
    }
    operands.push_back(std::move(operand));
  }
  return operands;
}

std::string Explainer::textOf(const Value& value) {
  if (value.isPoison())
    return "";
  if (Object* const* object = value.get<Object*>()) {
    std::string name(
        (*object)->schema ? std::string((*object)->schema->name) + " " : "");
    return name + ((*object)->slots.empty() ? "{}" : "{ ... }");
  }
  bool isList = value.is<const ListValue*>() || value.is<Range>();
  return value.isScalar() || isList
             ? recipe::formatValue(lower(evaluator, value), {})
             : describe(evaluator, value);
}

std::vector<Explanation::Field> Explainer::fieldsOf(Object& object) {
  std::vector<Explanation::Field> fields;
  for (Slot& slot : object.slots) {
    const Value& value = evaluator.objects.force(object, slot);
    fields.push_back({std::string(slot.name), textOf(value), value.origin});
  }
  return fields;
}

const ast::Comments* Explainer::commentsOf(const Target& target) const {
  if (target.isElement || !target.slot->field)
    return nullptr;
  for (const ast::Item& item : target.object->schema->body->items)
    if (std::get_if<ast::FieldDecl>(&item.node) ==
        target.slot->field->declaration)
      return &item.comments;
  return nullptr;
}

std::string textOf(const std::vector<PathStep>& path) {
  std::string text;
  for (const PathStep& step : path) {
    if (auto* name = std::get_if<std::string>(&step.key))
      text += (text.empty() ? "" : ".") + *name;
    else
      text += "[" + std::to_string(std::get<int64_t>(step.key)) + "]";
  }
  return text;
}

std::optional<Explanation> Explainer::run(const std::vector<PathStep>& path) {
  assert(!path.empty() && "a path names something");
  Object* root = settings();
  if (!root) {
    engine.append(found);
    return std::nullopt;
  }
  evaluator.root = root;
  for (const PathStep& step : path) {
    const auto* name = std::get_if<std::string>(&step.key);
    if (!name)
      break;
    wanted.push_back(*name);
  }
  std::optional<Target> target = follow(*root, path);
  if (!target)
    return std::nullopt;
  if (target->value.isPoison())
    engine.append(found);
  Explanation result;
  result.path = sema::textOf(path);
  result.value = textOf(target->value);
  result.type =
      target->type ? nameOf(*target->type) : typeNameOf(target->value);
  result.comments = commentsOf(*target);
  result.origin = target->value.origin;
  result.owner = ownerOf(evaluator, result.origin.range);
  if (!target->isElement) {
    Source source = sourceOf(*target->object, *target->slot);
    expanded.insert(target->slot);
    result.expression = expressionOf(source);
    result.operands = operandsOf(source);
  }
  if (Object* const* object = target->value.get<Object*>()) {
    result.isRecord = true;
    result.fields = fieldsOf(**object);
  }
  result.history =
      historyOf(evaluator, *root, target->names, target->slot->value.origin);
  return result;
}

} // namespace

std::optional<Explanation> explain(const SourceMap& sources,
                                   const Request& request,
                                   const std::vector<PathStep>& path,
                                   Loader& loader, diag::Engine& engine) {
  return Explainer(sources, request, loader, engine).run(path);
}

} // namespace recipec::sema
