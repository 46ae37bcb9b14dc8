// What was meant by a call of an unknown name; see UnknownCalls.h.

#include "compiler/sema/names/UnknownCalls.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// The assignment of a value in the text, and the file it stands in.
struct Written {
  const ast::File* file = nullptr;
  const Env* env = nullptr;
  const Member* member = nullptr;
};

/// Where the text sets the field; empty for other fields.
Written writtenFor(const Slot& slot) {
  if (slot.chain.empty() || !slot.chain.front().isValue() || !slot.field ||
      slot.chain.front().member->given)
    return {};
  const Definition& definition = slot.chain.front();
  return {definition.layer->env->file, definition.layer->env,
          definition.member};
}

/// The call of `name` that is the whole value of the field.
const ast::Call* callOf(const Written& written, const ast::Name& name) {
  if (!written.member)
    return nullptr;
  const auto* call =
      std::get_if<ast::Call>(&(*written.file)[written.member->value].node);
  const auto* callee =
      call ? std::get_if<ast::NameRef>(&(*written.file)[call->callee].node)
           : nullptr;
  return callee && callee->name.range == name.range ? call : nullptr;
}

} // namespace

bool helpWithSectionCall(Evaluator& evaluator, diag::Builder& builder,
                         const ast::Name& name, const Object& object,
                         const Slot& slot) {
  const Written written = writtenFor(slot);
  const ast::Call* call = callOf(written, name);
  const Type& type = *evaluator.objects.typeOf(object, slot);
  if (!call || call->arguments.empty() || type.kind != Type::Kind::schema)
    return false;
  std::string fields;
  for (const ast::Argument& argument : call->arguments) {
    if (!argument.name || !type.schema->find(argument.name->text))
      return false;
    fields += (fields.empty() ? "" : ", ") + argument.name->text + " = ";
    fields += evaluator.sources.text((*written.file)[argument.value].range);
  }
  if (fields.find('\n') != fields.npos)
    return false;
  const std::string own = std::string(slot.name) + " { " + fields + " }";
  builder.help("write `" + own + "`");
  if (written.member->path.size() == 1)
    builder.fixIt(written.member->range, own);
  return true;
}

bool helpWithArgumentAlone(Evaluator& evaluator, diag::Builder& builder,
                           const ast::Name& name, const Object& object,
                           const Slot& slot) {
  const Written written = writtenFor(slot);
  const ast::Call* call = callOf(written, name);
  if (!call || call->arguments.size() != 1 || call->arguments[0].name)
    return false;
  const ast::ExprId argument = call->arguments[0].value;
  if (!Objects::isConstant(*written.file, argument))
    return false;
  Messages::Muted muted(evaluator.messages);
  const Value value = evaluator.evaluate(argument, *written.env);
  if (value.isPoison() ||
      !convert(evaluator, value, *evaluator.objects.typeOf(object, slot)))
    return false;
  const std::string text(
      evaluator.sources.text((*written.file)[argument].range));
  builder.help("write `" + std::string(slot.name) + " = " + text + "`")
      .fixIt((*written.file)[written.member->value].range, text);
  return true;
}

bool helpWithTemplate(Evaluator& evaluator, diag::Builder& builder,
                      const ast::Name& name, const Object& object,
                      const Slot& slot) {
  const Written written = writtenFor(slot);
  if (!written.member || written.member->path.size() != 1)
    return false;
  const ast::Expr& value = (*written.file)[written.member->value];
  const auto* text = std::get_if<ast::StringLiteral>(&value.node);
  const Type& type = *evaluator.objects.typeOf(object, slot);
  if (!text || type.kind != Type::Kind::schema || type.schema->fields.empty() ||
      name.range.begin < value.range.begin || name.range.end > value.range.end)
    return false;
  const ast::FieldDecl& first = *type.schema->fields.front().declaration;
  if (evaluator.types.resolve(*type.schema->layer.env, first.type)->kind !=
      Type::Kind::string)
    return false;
  std::string own;
  for (char letter : evaluator.sources.text(value.range)) {
    const bool isBrace = letter == '{' || letter == '}';
    own += isBrace && !own.ends_with('\\') ? "\\" : "";
    own += letter;
  }
  // As the field's default writes it: only the opening brace needs a `\`.
  for (size_t at = own.find("\\}"); at != own.npos; at = own.find("\\}", at))
    own.erase(at, 1);
  const std::string setting =
      std::string(slot.name) + " { " + first.name.text + " = " + own + " }";
  builder
      .help("`" + std::string(slot.name) + "` is a record: write `" + setting +
            "`")
      .fixIt(written.member->range, setting);
  return true;
}

bool helpWithSchemas(Evaluator& evaluator, diag::Builder& builder,
                     const ast::Name& name, const Object& object,
                     const Slot& slot) {
  if (slot.chain.empty() || !slot.chain.front().isValue() || !slot.field ||
      slot.chain.front().member->given)
    return false;
  const Definition& definition = slot.chain.front();
  const ast::Expr& value =
      (*definition.layer->env->file)[definition.member->value];
  const bool isMaker = (std::holds_alternative<ast::Amend>(value.node) ||
                        std::holds_alternative<ast::Call>(value.node)) &&
                       value.range.source == name.range.source &&
                       value.range.begin == name.range.begin;
  if (!isMaker)
    return false;
  const Type& type = *evaluator.objects.typeOf(object, slot);
  std::vector<std::string> names;
  if (type.kind == Type::Kind::schema)
    names.emplace_back(type.schema->name);
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema)
      names.emplace_back(member->schema->name);
  if (names.empty())
    return false;
  const std::string path = "`" + evaluator.pathOf(object, slot.name) + "`";
  if (names.size() == 1)
    builder
        .help(path + " is an `" + names.front() +
              "`, there is no other: write `" + names.front() + "`")
        .fixIt(name.range, names.front());
  else
    builder.help(path + " is one of " + diag::quotedList(names, names.size()));
  return true;
}

} // namespace recipec::sema
