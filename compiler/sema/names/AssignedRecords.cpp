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

/// Whether a layer has another key that its record lacks, which may belong into
/// the same braces.
bool hasOtherUnknown(const Object& object, const Layer& layer,
                     const Member& member) {
  return std::any_of(
      layer.members.begin(), layer.members.end(), [&](const Member& each) {
        return &each != &member && !object.schema->find(each.path.front().text);
      });
}

} // namespace

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
  // Two edits at one place would overlap.
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
