// Moves keys into the braces of an assigned record; see AssignedRecords.h.
//
// 1. Find the assignment of the record in the layer of the key.
// 2. Its value is a name, a record with braces or a call: add the setting
//    behind the name, to the braces or to the arguments.
// 3. Delete the key where it stands.

#include "compiler/sema/names/AssignedRecords.h"

#include "compiler/base/Text.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/names/MeantValues.h"
#include "compiler/sema/values/SetPlaces.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// An assigned value with one more setting.
struct Extended {
  std::string text; // of the value
  diag::FixIt edit;
};

std::string writtenText(const Evaluator& evaluator, SourceRange range) {
  return std::string(evaluator.sources.text(range));
}

/// Inserts `added` at an offset of the value at `range`.
Extended inserted(const Evaluator& evaluator, SourceRange range, uint32_t at,
                  const std::string& added) {
  std::string text = writtenText(evaluator, range);
  text.insert(at - range.begin, added);
  return {text, {.range = {range.source, at, at}, .replacement = added}};
}

/// `adamw { weight_decay = 0.1, lr = 2e-5 }`
Extended inBraces(const Evaluator& evaluator, const ast::File& file,
                  SourceRange range, const ast::Amend& amend,
                  const std::string& setting) {
  const ast::Body& body = file[amend.body];
  const std::string base = writtenText(evaluator, file[amend.base].range);
  if (body.items.empty())
    return {base + " { " + setting + " }",
            {.range = body.range, .replacement = "{ " + setting + " }"}};
  const SourceRange last = body.items.back().range;
  const int line = evaluator.sources.lineColumn(last.source, last.begin).line;
  const int first =
      evaluator.sources.lineColumn(body.range.source, body.range.begin).line;
  if (line == first)
    return inserted(evaluator, range, last.end, ", " + setting);
  const int column =
      evaluator.sources.lineColumn(last.source, last.begin).column;
  Extended whole =
      inserted(evaluator, range, last.end,
               "\n" + std::string(size_t(column - 1), ' ') + setting);
  whole.text = base + " { ..., " + setting + " }";
  return whole;
}

std::optional<Extended> extended(Evaluator& evaluator, const Env& env,
                                 ast::ExprId id, const std::string& setting) {
  const ast::File& file = *env.file;
  const ast::Expr& value = file[id];
  {
    Messages::Muted muted(evaluator.messages);
    if (evaluator.evaluate(id, env).isPoison())
      return std::nullopt;
  }
  if (const auto* amend = std::get_if<ast::Amend>(&value.node))
    return inBraces(evaluator, file, value.range, *amend, setting);
  if (const auto* call = std::get_if<ast::Call>(&value.node);
      call && evaluator.evaluate(call->callee, env).is<const Schema*>())
    return inserted(evaluator, value.range, value.range.end - 1,
                    (call->arguments.empty() ? "" : ", ") + setting);
  const bool isName = std::holds_alternative<ast::NameRef>(value.node) ||
                      std::holds_alternative<ast::Member>(value.node);
  if (!isName)
    return std::nullopt;
  return inserted(evaluator, value.range, value.range.end,
                  " { " + setting + " }");
}

/// Whether a layer has another key that its record lacks. It may belong in the
/// same braces.
bool hasOtherUnknown(const Object& object, const Layer& layer,
                     const Member& member) {
  return std::any_of(
      layer.members.begin(), layer.members.end(), [&](const Member& each) {
        return &each != &member && !object.schema->find(each.path.front().text);
      });
}

/// The written default of a field of a section; empty if it has none.
std::string defaultOf(Evaluator& evaluator, const std::string& section,
                      const std::string& name) {
  const Schema* recipes = evaluator.recipes.loadedSchema();
  const Field* outer = recipes ? recipes->find(section) : nullptr;
  const Schema* schema =
      outer ? onlySchemaOf(*evaluator.types.resolve(*recipes->layer.env,
                                                    outer->declaration->type))
            : nullptr;
  const Field* field = schema ? schema->find(name) : nullptr;
  if (!field || field->declaration->defaultValue == ast::ExprId::none)
    return {};
  return writtenText(
      evaluator,
      (*schema->layer.env->file)[field->declaration->defaultValue].range);
}

/// The value of a field of a section as the recipe writes it, or else its
/// default.
std::string valueGiven(Evaluator& evaluator, const Object* recipe,
                       const std::string& section, const std::string& name) {
  const SourceRange set =
      recipe ? placeOf(*recipe, section + "." + name) : SourceRange{};
  if (!set.isValid())
    return defaultOf(evaluator, section, name);
  const std::string text = writtenText(evaluator, set);
  const size_t begin = text.find_first_not_of(" =", text.find('='));
  return begin == text.npos ? std::string() : text.substr(begin);
}

/// Puts the number into an example with one argument:
/// `lr = cosine(peak = 2e-3)` from `cosine(peak = 0.1)`. Empty for other
/// examples.
std::string withNumber(const std::string& example, const std::string& number,
                       const std::string& name) {
  constexpr std::string_view sign = " = ";
  const size_t at = example.find(sign);
  const bool isOfOne = at != example.npos && example.ends_with(')') &&
                       example.find('(') < at &&
                       example.find_first_of(",\n") == example.npos;
  return isOfOne
             ? name + " = " + example.substr(0, at + sign.size()) + number + ")"
             : std::string();
}

} // namespace

std::string recordOfNumber(Evaluator& evaluator, const Object* recipe,
                           const KnownField& field, const std::string& value) {
  const std::vector<std::string> names = namesOfPath(field.path);
  if (names.size() < 2 || !field.owner || field.owner->fields.empty())
    return {};
  const std::string number = valueGiven(evaluator, recipe, names[0], names[1]);
  const bool isNumber =
      !number.empty() &&
      std::isdigit(static_cast<unsigned char>(number.front())) &&
      number.find_first_not_of("0123456789.eE+-_") == number.npos;
  if (isNumber && names.size() == 2)
    return withNumber(value, number, names[1]);
  const std::string& first = field.owner->fields.front().declaration->name.text;
  if (!isNumber || names.size() < 3 || first == names[2])
    return {};
  return names[1] + " = " + std::string(field.owner->name) + "(" + first +
         " = " + number + ", " + names[2] + " = " + value + ")";
}

bool helpWithAssigned(Evaluator& evaluator, diag::Builder& builder,
                      const Object& object, const Layer& layer,
                      const Member& member, const KnownField& field,
                      const std::string& start) {
  const size_t dot = field.path.find('.');
  if (dot == std::string::npos || member.given || member.path.size() != 1 ||
      field.path.find('.', dot + 1) != std::string::npos ||
      evaluator.sources.kind(member.range.source) != SourceKind::file)
    return false;
  const std::string record = field.path.substr(0, dot);
  const auto assigned = std::find_if(
      layer.members.begin(), layer.members.end(), [&](const Member& each) {
        return each.path.size() == 1 && each.path[0].text == record &&
               each.value != ast::ExprId::none && !each.given;
      });
  if (assigned == layer.members.end() || !layer.env || !layer.env->file)
    return false;
  const MeantValue value = meantValue(evaluator, field, layer, member);
  if (value.kind != MeantValue::Kind::asWritten &&
      value.kind != MeantValue::Kind::mended)
    return false;
  const std::string setting =
      settingOf(evaluator, field, field.path.substr(dot + 1), value);
  const auto whole =
      extended(evaluator, assigned->env ? *assigned->env : *layer.env,
               assigned->value, setting);
  if (!whole)
    return false;
  const auto applicability = hasOtherUnknown(object, layer, member)
                                 ? diag::Applicability::maybe
                                 : applicabilityOf(field);
  builder.help(start + ": write `" + record + " = " + onOneLine(whole->text) +
               "`");
  const diag::FixIt& edit = whole->edit;
  const SourceRange key = withSeparator(evaluator.sources, member.range);
  // Merge the two edits if they touch, because they would overlap.
  if (edit.range.end == key.begin) {
    builder.fixIt({key.source, edit.range.begin, key.end}, edit.replacement,
                  applicability);
    return true;
  }
  builder.fixIt(edit.range, edit.replacement, applicability)
      .fixIt(key, "", applicability);
  return true;
}

} // namespace recipec::sema
