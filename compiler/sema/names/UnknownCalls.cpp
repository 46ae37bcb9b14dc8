// What was meant by a call of an unknown name; see UnknownCalls.h.

#include "compiler/sema/names/UnknownCalls.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Sources.h"
#include "compiler/sema/types/TypeHelp.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace recipec::sema {
namespace {

/// An assignment in the text, and its file.
struct Written {
  const ast::File* file = nullptr;
  const Env* env = nullptr;
  const Member* member = nullptr;
};

/// The assignment that sets the field; empty if the field is set otherwise.
Written writtenFor(const Slot& slot) {
  if (slot.chain.empty() || !slot.chain.front().isValue() || !slot.field ||
      slot.chain.front().member->given)
    return {};
  const Definition& definition = slot.chain.front();
  return {definition.layer->env->file, definition.layer->env,
          definition.member};
}

/// The name that a callee begins with: `a` of `a.b.c`.
const ast::NameRef* firstNameOf(const ast::File& file, ast::ExprId callee) {
  const ast::Expr* at = &file[callee];
  while (const auto* member = std::get_if<ast::Member>(&at->node))
    at = &file[member->base];
  return std::get_if<ast::NameRef>(&at->node);
}

/// The call that is the whole value of the field and whose callee begins with
/// `name`; nullptr if there is none.
const ast::Call* callOf(const Written& written, const ast::Name& name) {
  if (!written.member)
    return nullptr;
  const auto* call =
      std::get_if<ast::Call>(&(*written.file)[written.member->value].node);
  const ast::NameRef* callee =
      call ? firstNameOf(*written.file, call->callee) : nullptr;
  return callee && callee->name.range == name.range ? call : nullptr;
}

/// Whether only the first argument of a call has no name.
bool hasOneOperand(const ast::Call& call) {
  return !call.arguments.empty() && !call.arguments[0].name &&
         std::all_of(
             call.arguments.begin() + 1, call.arguments.end(),
             [](const ast::Argument& each) { return each.name.has_value(); });
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
  if (!call || !hasOneOperand(*call))
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
  // Only opening braces need a `\`, as in the field's default.
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
    names.emplace_back(type.schema->shownName());
  for (const Type* member : type.members)
    if (member->kind == Type::Kind::schema)
      names.emplace_back(member->schema->shownName());
  if (names.empty())
    return false;
  const std::string path = "`" + evaluator.pathOf(object, slot.name) + "`";
  const bool isVowel = !names.front().empty() &&
                       std::string_view("aeiou").find(names.front()[0]) !=
                           std::string_view::npos;
  if (names.size() == 1)
    builder
        .help(path + (isVowel ? " is an `" : " is a `") + names.front() +
              "`, there is no other: write `" + names.front() + "`")
        .fixIt(name.range, names.front());
  else
    builder.help(path + " is one of " + diag::quotedList(names, names.size()));
  return true;
}

bool helpWithFieldTemplate(diag::Builder& builder, const ast::Name& name,
                           const Object& object, const Slot& slot) {
  const Written written = writtenFor(slot);
  if (!written.member || !namesFieldOfFile(object, slot))
    return false;
  const ast::Expr& value = (*written.file)[written.member->value];
  const auto* text = std::get_if<ast::StringLiteral>(&value.node);
  if (!text || name.range.begin < value.range.begin ||
      name.range.end > value.range.end)
    return false;
  const std::string own(slot.name);
  const std::string start = "`" + own + "` is the name of a field, no template";
  if (text->holes.size() == 1) {
    const std::string quoted = "\"" + name.text + "\"";
    builder
        .help(start + ": write `" + own + " = " + quoted +
              "`; other text belongs in the field itself")
        .fixIt(value.range, quoted);
    return true;
  }
  builder.help(start + ": write the whole text into one field of the file, and "
                       "name that");
  return true;
}

/// The name of the model that declares the block, if `base` is that model or
/// its file; empty if there is none.
static std::string modelWithBlock(const Value& base, std::string_view name) {
  auto hasBlock = [&](const ast::Body& body) {
    return std::any_of(
        body.items.begin(), body.items.end(), [&](const ast::Item& item) {
          const auto* block = std::get_if<ast::BlockDecl>(&item.node);
          return block && block->name.text == name;
        });
  };
  if (const Schema* const* schema = base.get<const Schema*>())
    return (*schema)->isModel && hasBlock(*(*schema)->body)
               ? std::string((*schema)->name)
               : std::string();
  Module* const* module = base.get<Module*>();
  if (!module || !(*module)->file)
    return {};
  const ast::File& file = *(*module)->file;
  for (const ast::Declaration& declaration : file.declarations)
    if (auto* model = std::get_if<ast::ModelDecl>(&declaration.node);
        model && hasBlock(file[model->body]))
      return model->name.text;
  return {};
}

bool helpWithBlockOfModel(diag::Builder& builder, const Value& base,
                          std::string_view name) {
  const std::string model = modelWithBlock(base, name);
  if (model.empty())
    return false;
  const std::string own(name);
  builder.help("`" + own + "` is a block of the model `" + model +
               "`, which only that model calls: write a block `" + own +
               "` in your own model");
  return true;
}

void helpWithValue(Evaluator& evaluator, diag::Builder& builder,
                   const ast::Name& name, Object& object, Slot& slot) {
  const Type& type = *evaluator.objects.typeOf(object, slot);
  // Whether all alternatives are numbers or keywords: `int | auto`.
  const std::vector<const Type*> members =
      type.kind == Type::Kind::unionOf ? type.members
                                       : std::vector<const Type*>{&type};
  auto isNumeric = [](const Type* each) {
    return each->kind == Type::Kind::integer || each->kind == Type::Kind::dim ||
           each->kind == Type::Kind::real || each->kind == Type::Kind::quantity;
  };
  const bool isNumber =
      std::any_of(members.begin(), members.end(), isNumeric) &&
      std::all_of(members.begin(), members.end(), [&](const Type* each) {
        return isNumeric(each) || each->kind == Type::Kind::automatic ||
               each->kind == Type::Kind::none;
      });
  std::string summary =
      object.schema ? summaryOf(*object.schema, slot.name) : std::string();
  const auto typing = std::exchange(evaluator.typing, {&object, &slot});
  if (isNumber && !summary.empty()) {
    summary = summary.substr(0, summary.find(", say `"));
    summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
    std::string example = exampleFor(object, slot);
    if (example.empty())
      example = defaultAsExample(evaluator, type);
    for (const Type* each : members)
      if (example.empty() && each->kind == Type::Kind::quantity)
        example = exampleOf(evaluator, *each);
    builder.help(
        "`" + std::string(slot.name) + "` is of type `" + nameOf(type) +
        "`: " + summary +
        (example.empty() ? "" : "; write, for example, `" + example + "`"));
  } else {
    helpWithType(evaluator, builder, {}, type, name.range);
  }
  evaluator.typing = typing;
}

} // namespace recipec::sema
