// Derived fields, which cannot be set: what to set instead.

#include "compiler/sema/records/FixedFields.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Operands.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// Whether a derived field has the value that the user wrote without that.
bool isAlready(Evaluator& evaluator, Object& object, const Slot& slot,
               const Value& wanted) {
  const ast::ExprId id = slot.field->declaration->defaultValue;
  const Value derived =
      evaluator.evaluate(id, *evaluator.objects.schemaScope(object, slot.name));
  return evaluator.operators.isEqual(derived, wanted);
}

/// `ranks = 16` for `nodes = 2`: the field of the same record that the derived
/// one follows, with the value that makes it what the user wrote. It is looked
/// for among the multiples of the other operands.
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
  // What a record inside says is set there.
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
  if (!count || *count < 1 || *count > int64_t(1) << 32)
    return false;
  std::vector<int64_t> candidates = {*count};
  for (const Operand& operand : operands)
    if (const int64_t* factor = operand.value.get<int64_t>();
        factor && *factor > 0 && *factor < int64_t(1) << 16)
      for (size_t i = candidates.size(); i > 0; --i)
        candidates.push_back(candidates[i - 1] * *factor);
  std::sort(candidates.begin(), candidates.end(), std::greater<>());
  constexpr size_t mostCandidates = 32;
  if (candidates.size() > mostCandidates)
    return false;
  for (const Operand& operand : operands) {
    Slot* source = operand.slot;
    const bool isFree = source && operand.object == &object && source->field &&
                        !source->field->declaration->isFixed &&
                        operand.value.is<int64_t>();
    if (!isFree)
      continue;
    const int64_t current = *operand.value.get<int64_t>();
    const bool isSet = !source->chain.empty();
    for (int64_t candidate : candidates) {
      Messages::Muted muted(evaluator.messages);
      Object* trial = evaluator.objects.amended(
          object, evaluator.layers.ofValue(source->name, {candidate, {}}),
          object.range);
      trial->container = object.container;
      trial->key = object.key;
      Slot* derived = trial->find(slot.name);
      derived->chain.clear();
      if (!evaluator.operators.isEqual(
              evaluator.objects.force(*trial, *derived), wanted))
        continue;
      const std::string text =
          std::string(source->name) + " = " + std::to_string(candidate);
      if (isSet && isAlready(evaluator, object, slot, wanted)) {
        builder.help("leave it out: with `" + std::string(source->name) +
                     " = " + std::to_string(current) + "` it is " +
                     std::to_string(*count));
        return true;
      }
      builder.help("it follows `" + std::string(source->name) + "`: write `" +
                   text + "` instead");
      if (!given.member->given && given.member->path.size() == 1)
        builder.fixIt(given.member->range, text);
      source->value = poison(); // which is not what the user meant
      return true;
    }
  }
  return false;
}

/// `name = "baseline-1"` in a recipe: its name is that of its declaration.
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
  // Of the values of an axis, the axis is at fault.
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
