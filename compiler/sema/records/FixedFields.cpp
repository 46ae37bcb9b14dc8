// Derived fields, which cannot be set: what to set instead.

#include "compiler/sema/records/FixedFields.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Operands.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace recipec::sema {
namespace {

/// Whether the derived field would have the user's value anyway.
bool isAlready(Evaluator& evaluator, Object& object, const Slot& slot,
               const Value& wanted) {
  const ast::ExprId id = slot.field->declaration->defaultValue;
  const Value derived =
      evaluator.evaluate(id, *evaluator.objects.schemaScope(object, slot.name));
  return evaluator.operators.isEqual(derived, wanted);
}

/// The field to set, and the number that gives a derived field the wanted
/// value.
struct DerivedFrom {
  Slot* slot = nullptr;
  int64_t number = 0;
};

/// Candidate values for a source field: products of `wanted` with other
/// operands, the largest first. Empty if there are too many.
std::vector<int64_t> candidatesFor(const std::vector<Operand>& operands,
                                   int64_t wanted) {
  if (wanted < 1 || wanted > int64_t(1) << 32)
    return {};
  std::vector<int64_t> candidates = {wanted};
  for (const Operand& operand : operands)
    if (const int64_t* factor = operand.value.get<int64_t>();
        factor && *factor > 0 && *factor < int64_t(1) << 16)
      for (size_t i = candidates.size(); i > 0; --i)
        candidates.push_back(candidates[i - 1] * *factor);
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  constexpr size_t mostCandidates = 32;
  if (candidates.size() > mostCandidates)
    candidates.clear();
  return candidates;
}

/// Whether the derived field becomes `wanted` if `source` is set to `number`.
bool gives(Evaluator& evaluator, const Object& object, const Slot& slot,
           const Slot& source, int64_t number, int64_t wanted) {
  Messages::Muted muted(evaluator.messages);
  Object* trial = evaluator.objects.amended(
      object, evaluator.layers.ofValue(source.name, {number, {}}),
      object.range);
  trial->container = object.container;
  trial->key = object.key;
  Slot* derived = trial->find(slot.name);
  derived->chain.clear();
  return evaluator.operators.isEqual(evaluator.objects.force(*trial, *derived),
                                     {wanted, {}});
}

/// Finds the field of the same record from which `slot` is derived, and the
/// number that makes `slot` equal to `wanted`.
DerivedFrom sourceFor(Evaluator& evaluator, Object& object, const Slot& slot,
                      const std::vector<Operand>& operands, int64_t wanted) {
  const std::vector<int64_t> candidates = candidatesFor(operands, wanted);
  for (const Operand& operand : operands) {
    Slot* source = operand.slot;
    const bool isFree = source && operand.object == &object && source->field &&
                        !source->field->declaration->isFixed &&
                        operand.value.is<int64_t>();
    if (!isFree)
      continue;
    for (int64_t candidate : candidates)
      if (gives(evaluator, object, slot, *source, candidate, wanted))
        return {source, candidate};
  }
  return {};
}

/// The list, among a sweep's axes, that has an element at `range`.
const ast::ListExpr* listWith(const ast::File& file, ast::BodyId body,
                              SourceRange range) {
  for (const ast::Item& item : file[body].items) {
    const auto* node = std::get_if<ast::Assignment>(&item.node);
    if (!node)
      continue;
    if (node->body != ast::BodyId::none) {
      if (const ast::ListExpr* inner = listWith(file, node->body, range))
        return inner;
      continue;
    }
    const auto* list = std::get_if<ast::ListExpr>(&file[node->value].node);
    if (list && std::any_of(list->elements.begin(), list->elements.end(),
                            [&](ast::ExprId each) {
                              return file[each].range == range;
                            }))
      return list;
  }
  return nullptr;
}

/// The integers of the axis that gave a value; empty if they are not literals.
std::vector<int64_t> valuesOfAxis(Evaluator& evaluator, const Member& given) {
  if (!evaluator.root)
    return {};
  for (const Definition& sweep : evaluator.root->sweeps) {
    const ast::File& file = *sweep.layer->env->file;
    const ast::ListExpr* list =
        sweep.member->body == ast::BodyId::none
            ? nullptr
            : listWith(file, sweep.member->body, given.range);
    if (!list)
      continue;
    std::vector<int64_t> values;
    for (ast::ExprId each : list->elements) {
      const std::string_view text = evaluator.sources.text(file[each].range);
      int64_t& value = values.emplace_back();
      const auto read =
          std::from_chars(text.data(), text.data() + text.size(), value);
      if (read.ec != std::errc() || read.ptr != text.data() + text.size())
        return {};
    }
    return values;
  }
  return {};
}

/// Helps with an axis of a derived field: proposes an axis of the field that it
/// is derived from, `batch.global = [8, 16]` for `batch.accumulation = [1, 2]`.
bool helpWithAxisOfSource(Evaluator& evaluator, diag::Builder& builder,
                          Object& object, const Slot& slot,
                          const std::vector<Operand>& operands,
                          const std::vector<int64_t>& axis) {
  std::string list, path;
  for (int64_t wanted : axis) {
    const DerivedFrom source =
        sourceFor(evaluator, object, slot, operands, wanted);
    if (!source.slot)
      return false;
    const std::string own = evaluator.pathOf(object, source.slot->name);
    if (!path.empty() && own != path)
      return false;
    path = own;
    list += (list.empty() ? "" : ", ") + std::to_string(source.number);
  }
  builder.help("it follows `" + path + "`: write `" + path + " = [" + list +
               "]` instead");
  return true;
}

/// Helps with a derived field that the user set: proposes a value for the field
/// that it is derived from, `ranks = 16` for `nodes = 2`. Tries multiples of
/// the user's value by the other operands.
bool helpWithSource(Evaluator& evaluator, diag::Builder& builder,
                    Object& object, const Slot& slot) {
  const Definition& given = slot.chain.back();
  if (!given.isValue() || evaluator.messages.isMuted())
    return false;
  std::vector<Operand> operands;
  Value wanted;
  {
    Messages::Muted muted(evaluator.messages);
    wanted =
        given.member->given
            ? *given.member->given
            : evaluator.evaluate(given.member->value,
                                 *evaluator.objects.scopeOf(object, given));
    operands =
        directOperands(evaluator, slot.field->declaration->defaultValue,
                       *evaluator.objects.schemaScope(object, slot.name));
  }
  // A field derived from an inner record is set in that record.
  if (operands.size() == 1 && operands[0].object &&
      operands[0].object->container == &object && operands[0].slot &&
      evaluator.sources.text(given.member->range).find('\n') ==
          std::string_view::npos) {
    const std::string inner(operands[0].object->key);
    builder.help("it follows `" + inner + "`: write `" + inner + " { " +
                 std::string(operands[0].slot->name) + " = " +
                 describe(evaluator, wanted) + " }` instead");
    return true;
  }
  const int64_t* count = wanted.get<int64_t>();
  if (!count)
    return false;
  if (given.member->given)
    if (const std::vector<int64_t> axis =
            valuesOfAxis(evaluator, *given.member);
        !axis.empty())
      return helpWithAxisOfSource(evaluator, builder, object, slot, operands,
                                  axis);
  const auto [source, number] =
      sourceFor(evaluator, object, slot, operands, *count);
  if (!source)
    return false;
  const std::string name(source->name);
  if (!source->chain.empty() && isAlready(evaluator, object, slot, wanted)) {
    builder.help("leave it out: with `" + name + " = " +
                 describe(evaluator, source->value) + "` it is " +
                 std::to_string(*count));
    return true;
  }
  const std::string text = name + " = " + std::to_string(number);
  builder.help("it follows `" + name + "`: write `" + text + "` instead");
  if (!given.member->given && given.member->path.size() == 1)
    builder.fixIt(given.member->range, text);
  source->value = poison(); // its value is not what the user meant
  return true;
}

/// `name = "baseline-1"` in a recipe: a recipe's name is that of its
/// declaration.
bool helpWithRecipeName(Evaluator& evaluator, diag::Builder& builder,
                        const Object& object, const Slot& slot) {
  if (object.schema != evaluator.recipes.loadedSchema() || slot.name != "name")
    return false;
  builder.note(
      "a recipe has the name of its declaration, `recipe NAME { ... }`",
      slot.field->range);
  const Definition& given = slot.chain.back();
  std::string name;
  if (!given.member->given && given.member->value != ast::ExprId::none)
    name = evaluator.sources.text(
        (*given.layer->env->file)[given.member->value].range);
  const bool isText = name.size() > 2 && name.front() == '"' &&
                      name.back() == '"' &&
                      name.find_first_of("{\\\n") == name.npos;
  if (!isText) {
    builder.help("leave it out, and name the recipe where it is declared");
    return true;
  }
  std::string identifier = name.substr(1, name.size() - 2);
  for (char& c : identifier)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  if (std::isdigit(static_cast<unsigned char>(identifier[0])))
    identifier = "recipe_" + identifier;
  builder.help("leave it out, and declare the recipe as `recipe " + identifier +
               "`; the folder of its run is `train { dir = " + "\"runs/" +
               name.substr(1) + " }`");
  return true;
}

} // namespace

bool reportFixed(Evaluator& evaluator, Object& object, const Slot& slot) {
  if (!slot.field || !slot.field->declaration->isFixed)
    return false;
  bool isGiven = std::any_of(slot.chain.begin(), slot.chain.end(),
                             [](const Definition& definition) {
                               return definition.member->setsFixed;
                             });
  if (slot.chain.empty() || isGiven)
    return false;
  const ast::FieldDecl& declaration = *slot.field->declaration;
  // If an axis gives the value, report the axis.
  const Member& last = *slot.chain.back().member;
  auto builder = evaluator.messages.report(
      diag::Kind::FixedField, last.given ? last.path.back().range : last.range,
      "`" + evaluator.pathOf(object, slot.name) +
          "` is derived and cannot be set");
  if (helpWithRecipeName(evaluator, builder, object, slot))
    return true;
  builder.note(
      "it is `" +
          std::string(evaluator.sources.text(
              (*object.schema->file)[declaration.defaultValue].range)) +
          "`",
      slot.field->range);
  if (std::string summary = summaryOf(*object.schema, slot.name);
      !summary.empty())
    builder.note("`" + std::string(slot.name) + "`: " + summary);
  if (!helpWithSource(evaluator, builder, object, slot))
    builder.help("leave it out: it follows what it is derived from");
  return true;
}

} // namespace recipec::sema
