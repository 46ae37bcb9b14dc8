// Example values of a type, as a recipe writes them, for helps.
//
// An example record has all required arguments, so that it can be copied.

#include "compiler/sema/types/Examples.h"

#include "compiler/recipe/Format.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/TriedValues.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace recipec::sema {
namespace {

/// A record with more required arguments than this is shown as `name { ... }`.
constexpr size_t mostArguments = 3;
/// The longest default that serves as another field's example.
constexpr size_t mostLetters = 24;

bool isAskedFor(const ast::FieldDecl& field) {
  return !field.isFixed && field.defaultValue == ast::ExprId::none;
}

} // namespace

std::string joinAlternatives(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0)
      text += i + 1 == names.size() ? " or " : ", ";
    text += "`" + names[i] + "`";
  }
  return text;
}

std::vector<std::string> formsOf(const Schema& schema) {
  std::vector<std::string> forms;
  if (schema.fields.empty())
    return {""};
  const ast::FieldDecl* first = schema.fields.front().declaration;
  for (const ast::Item& item : schema.body->items) {
    bool isForm = false;
    auto* field = std::get_if<ast::FieldDecl>(&item.node);
    if (field != first)
      continue;
    for (const std::string& line : item.comments.leading) {
      size_t begin = line.find('`'), end = line.rfind('`');
      isForm &= begin != line.npos && line.find("known as") == line.npos &&
                line.find("other tools") == line.npos;
      if (isForm && begin < end)
        forms.push_back(", " + line.substr(begin + 1, end - begin - 1));
      isForm |= line.find("Written with ") != line.npos;
    }
  }
  return forms.empty() ? std::vector<std::string>{""} : forms;
}

std::string defaultAsExample(Evaluator& evaluator, const Type& type) {
  auto [object, slot] = evaluator.typing;
  if (!object || !object->schema || !slot || !slot->field)
    return {};
  const ast::ExprId id = slot->field->declaration->defaultValue;
  const Env& env = *object->schema->layer.env;
  if (id == ast::ExprId::none)
    return {};
  const ast::Expr& expr = (*env.file)[id];
  std::string text(evaluator.sources.text(expr.range));
  const bool isPlain = std::holds_alternative<ast::IntLiteral>(expr.node) ||
                       std::holds_alternative<ast::FloatLiteral>(expr.node) ||
                       std::holds_alternative<ast::ListExpr>(expr.node);
  return isPlain && text.size() <= mostLetters &&
                 convert(evaluator, evaluator.evaluate(id, env), type)
             ? text
             : std::string();
}

std::string exampleFor(const Object& object, const Slot& slot) {
  const ast::Comments* comments =
      object.schema ? commentsOf(*object.schema, slot.name) : nullptr;
  std::string example = comments ? exampleIn(*comments) : std::string();
  constexpr std::string_view hole = "{name}";
  const size_t at = example.find(hole);
  if (at == example.npos)
    return example;
  const Object* around = &object;
  while (around->container)
    around = around->container;
  std::string name = "model";
  for (const Slot& each : around->slots)
    if (const std::string* text = each.value.get<std::string>();
        text && each.name == "name")
      name = *text;
  return example.replace(at, hole.size(), name);
}

/// The bound that a schema's rule such as `factor >= 1` sets for a field; 0 if
/// there is no such rule.
static double boundOf(const Schema& schema, std::string_view field) {
  const ast::File& file = *schema.layer.env->file;
  for (const ast::Require* rule : schema.layer.conditions) {
    const auto* compared =
        std::get_if<ast::Binary>(&file[rule->condition].node);
    const auto* name =
        compared ? std::get_if<ast::NameRef>(&file[compared->left].node)
                 : nullptr;
    const bool isBelow =
        compared && (compared->op == ast::BinaryOp::greaterEqual ||
                     compared->op == ast::BinaryOp::greater);
    if (!name || name->name.text != field || !isBelow)
      continue;
    if (const auto* whole =
            std::get_if<ast::IntLiteral>(&file[compared->right].node))
      return double(whole->value);
    if (const auto* real =
            std::get_if<ast::FloatLiteral>(&file[compared->right].node))
      return real->value;
  }
  return 0;
}

/// An example for a required field: the default of the field being set if the
/// type accepts it, a number above the schema's bound, or an example of the
/// type.
static std::string exampleOfField(Evaluator& evaluator, const Schema& schema,
                                  const ast::FieldDecl& field) {
  const Type& type = *evaluator.types.resolve(*schema.layer.env, field.type);
  if (std::string text = defaultAsExample(evaluator, type); !text.empty())
    return text;
  const Type& first =
      type.kind == Type::Kind::unionOf ? *type.members[0] : type;
  const double bound =
      first.kind == Type::Kind::real ? boundOf(schema, field.name.text) : 0;
  return bound > 0 ? recipe::formatReal(bound + 1)
                   : exampleOf(evaluator, first);
}

std::string exampleOf(Evaluator& evaluator, const Schema& schema,
                      const std::string& name) {
  const std::string form = formsOf(schema).front();
  std::vector<const ast::FieldDecl*> asked;
  for (const Field& field : schema.fields)
    if (isAskedFor(*field.declaration))
      asked.push_back(field.declaration);
  if (asked.empty())
    return name + " {}";
  if (asked.size() > mostArguments)
    return name + " { ... }";
  std::string arguments;
  for (const ast::FieldDecl* field : asked) {
    const std::string example = exampleOfField(evaluator, schema, *field);
    arguments += (arguments.empty() ? "" : ", ") + field->name.text + " = " +
                 (example.empty() ? "..." : example);
  }
  return name + "(" + arguments + form + ")";
}

std::string recordLike(Evaluator& evaluator, Object& given,
                       const Schema& schema) {
  std::string arguments;
  bool hasOwn = false; // a field that the user has set
  for (const Field& field : schema.fields) {
    const ast::FieldDecl& declared = *field.declaration;
    Slot* slot = given.find(declared.name.text);
    const Definition* set =
        slot && !slot->chain.empty() ? &slot->chain.front() : nullptr;
    std::string text;
    if (set && set->isValue() && !set->member->given &&
        convert(evaluator, evaluator.objects.force(given, *slot),
                *evaluator.types.resolve(*schema.layer.env, declared.type)))
      text = evaluator.sources.text(
          (*set->layer->env->file)[set->member->value].range);
    hasOwn |= !text.empty();
    if (text.empty() && isAskedFor(declared))
      text = exampleOfField(evaluator, schema, declared);
    if (text.find('\n') != text.npos)
      return {};
    if (!text.empty())
      arguments +=
          (arguments.empty() ? "" : ", ") + declared.name.text + " = " + text;
  }
  return hasOwn ? std::string(schema.shownName()) + "(" + arguments + ")"
                : std::string();
}

/// `` `kind` is `"llama3"` or `"linear"` ``: the first field of `schema` with
/// several literals that the text `record` does not set; empty if there is
/// none.
static std::string choiceOf(Evaluator& evaluator, const Schema& schema,
                            const std::string& record) {
  for (const Field& field : schema.fields) {
    const std::string& name = field.declaration->name.text;
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    std::vector<std::string> names;
    for (const Type* each : alternativesOf(type))
      if (each->kind == Type::Kind::literal)
        names.push_back(nameOf(*each));
    if (names.size() > 1 && record.find(name + " = ") == record.npos)
      return "`" + name + "` is " + joinAlternatives(names);
  }
  return {};
}

std::string choiceFor(Evaluator& evaluator, const Type& type) {
  const std::vector<const Schema*> schemas = schemasOf(type);
  const std::string choice = schemas.size() == 1
                                 ? choiceOf(evaluator, *schemas[0], "")
                                 : std::string();
  return choice.empty() ? "" : "; its " + choice;
}

bool helpWithOtherRecord(Evaluator& evaluator, diag::Builder& builder,
                         const Value& value, const Type& type,
                         SourceRange range) {
  Object* const* given = value.get<Object*>();
  const std::vector<const Schema*> schemas = schemasOf(type);
  if (!given || !(*given)->schema || schemas.size() != 1 ||
      (*given)->schema == schemas[0] || evaluator.isLibrary(range))
    return false;
  const std::string own = recordLike(evaluator, **given, *schemas[0]);
  if (own.empty())
    return false;
  const std::string choice = choiceOf(evaluator, *schemas[0], own);
  builder
      .help("write `" + own + "`" + (choice.empty() ? "" : ", whose " + choice))
      .fixIt(range, own);
  return true;
}

std::string madeOfNumber(Evaluator& evaluator, const Value& value,
                         const Type& type, SourceRange range) {
  if (!value.isNumber() || type.kind != Type::Kind::schema)
    return {};
  const ast::FieldDecl* only = nullptr;
  for (const Field& field : type.schema->fields) {
    if (field.declaration->isFixed ||
        field.declaration->defaultValue != ast::ExprId::none)
      continue;
    if (only)
      return {};
    only = field.declaration;
  }
  if (!only ||
      !convert(evaluator, value,
               *evaluator.types.resolve(*type.schema->layer.env, only->type)))
    return {};
  const std::string written(evaluator.sources.text(range));
  if (written.empty() || written.find('\n') != written.npos)
    return {};
  return nameOf(type) + "(" + only->name.text + " = " + written + ")";
}

/// The default of a field if it is a short string literal; otherwise `...`.
static std::string textByDefault(Evaluator& evaluator, const Schema& schema,
                                 const ast::FieldDecl& field) {
  const Env& env = *schema.layer.env;
  if (field.defaultValue == ast::ExprId::none)
    return "...";
  const ast::Expr& expr = (*env.file)[field.defaultValue];
  const std::string text(evaluator.sources.text(expr.range));
  const auto* literal = std::get_if<ast::StringLiteral>(&expr.node);
  return literal && literal->holes.empty() && text.size() <= mostLetters
             ? text
             : "...";
}

/// The name to write before the braces of a record. This is the name of its
/// schema, or, if a recipe cannot see the schema, the name of the field that is
/// being set: `chat { ... }`.
static std::string headOf(Evaluator& evaluator, const Schema& schema) {
  const std::string name(schema.shownName());
  const auto [object, slot] = evaluator.typing;
  const bool isSeen =
      !evaluator.isLibrary(schema.range) ||
      (evaluator.modules.prelude() && evaluator.modules.prelude()->find(name));
  if (isSeen || !object || !slot)
    return name;
  const Type* due = evaluator.objects.typeOf(*object, *slot);
  return due && due->schema == &schema ? std::string(slot->name) : name;
}

/// A record without required fields is shown with its optional fields.
static std::string fieldsOf(Evaluator& evaluator, const Schema& schema,
                            const std::string& name) {
  std::string fields;
  for (const Field& field : schema.fields) {
    if (isAskedFor(*field.declaration))
      return exampleOf(evaluator, schema, name);
    if (!field.declaration->isFixed)
      fields += (fields.empty() ? "" : ", ") + field.declaration->name.text +
                " = " + textByDefault(evaluator, schema, *field.declaration);
  }
  if (schema.fields.size() > mostArguments)
    fields = "...";
  return fields.empty() ? name + " {}" : name + " { " + fields + " }";
}

std::string exampleOf(Evaluator& evaluator, const Type& type) {
  switch (type.kind) {
  case Type::Kind::integer:
  case Type::Kind::dim:
    return "4";
  case Type::Kind::real:
    return "0.1";
  case Type::Kind::boolean:
    return "true";
  case Type::Kind::string:
    return "\"text\"";
  case Type::Kind::literal:
  case Type::Kind::integerLiteral:
    return nameOf(type);
  case Type::Kind::none:
    return "none";
  case Type::Kind::automatic:
    return "auto";
  case Type::Kind::quantity:
    return type.unit == recipe::Unit::bytes     ? "80GiB"
           : type.unit == recipe::Unit::seconds ? "30min"
           : type.unit == recipe::Unit::epochs  ? "3 epochs"
           : type.unit == recipe::Unit::tokens  ? "1G tokens"
                                                : "500 steps";
  case Type::Kind::schema:
    return fieldsOf(evaluator, *type.schema, headOf(evaluator, *type.schema));
  case Type::Kind::list: {
    const Type& each = *type.element;
    const std::string element = exampleOf(
        evaluator,
        each.kind == Type::Kind::unionOf ? *each.members.front() : each);
    return element.empty() ? "" : "[" + element + "]";
  }
  case Type::Kind::mapping:
    return "hidden -> ffn";
  default:
    return {};
  }
}

bool helpWithDocumented(Evaluator& evaluator, diag::Builder& builder,
                        const Value& value, const Type& type) {
  const auto [object, slot] = evaluator.typing;
  if (!object || !object->schema || !slot || value.isPoison())
    return false;
  const std::string example = exampleFor(*object, *slot);
  std::string summary = summaryOf(*object->schema, slot->name);
  summary = summary.substr(0, summary.find(", say `"));
  if (example.empty() || summary.empty())
    return false;
  summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
  const bool takesNone = std::any_of(
      type.members.begin(), type.members.end(),
      [](const Type* each) { return each->kind == Type::Kind::none; });
  const std::string* text = value.get<std::string>();
  const bool isToken = text && slot->name.ends_with("_token");
  builder.help("`" + std::string(slot->name) + "`: " + summary +
               (isToken ? "; `added_tokens` of the `tokenizer.json` has the id "
                          "of `" +
                              *text + "`"
                        : "") +
               "; write, for example, `" + example + "`" +
               (takesNone ? " or `none`" : ""));
  return true;
}

bool helpWithShare(Evaluator& evaluator, diag::Builder& builder,
                   const Value& value, SourceRange range) {
  const double* share = value.get<double>();
  const auto [object, slot] = evaluator.typing;
  const ast::Comments* comments = object && object->schema && slot
                                      ? commentsOf(*object->schema, slot->name)
                                      : nullptr;
  if (!share || *share <= 0 || *share > 1 || !comments)
    return false;
  for (const Field& field : object->schema->fields) {
    const std::string& name = field.declaration->name.text;
    const Type& type = *evaluator.types.resolve(*object->schema->layer.env,
                                                field.declaration->type);
    const bool isNamed =
        std::any_of(comments->leading.begin(), comments->leading.end(),
                    [&](const std::string& line) {
                      return line.find("`" + name + "`") != line.npos;
                    });
    if (type.kind != Type::Kind::real || !isNamed)
      continue;
    const std::string written(evaluator.sources.text(range));
    const std::string setting = name + " = " + written;
    const bool isArgument =
        evaluator.sources.kind(range.source) == SourceKind::commandLine;
    std::string summary = summaryOf(*object->schema, name);
    if (!summary.empty())
      summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
    builder.help(
        "a fraction is `" + name + "`, " + summary + ": write `" +
        (isArgument ? "--set " + evaluator.pathOf(*object, name) + "=" + written
                    : setting) +
        "`");
    const Member* member =
        slot->chain.empty() ? nullptr : slot->chain.front().member;
    if (member && member->path.size() == 1 && !isArgument)
      builder.fixIt(member->range, setting);
    return true;
  }
  return false;
}

/// Proposes the user's number with each byte unit that leaves no error. Returns
/// false if the field being set does not belong to a recipe.
static bool proposeBytes(Evaluator& evaluator, diag::Builder& builder,
                         const std::string& number,
                         const std::string& otherwise) {
  const std::string path = pathBeingSet(evaluator);
  if (path.empty())
    return false;
  diag::Proposal proposal{"write a unit behind the number: ", {}, ""};
  for (const char* unit : {"GiB", "MiB", "B"})
    proposal.ways.push_back(
        {"`" + number + unit + "`", {path + "=" + number + unit}});
  builder.propose(std::move(proposal)).otherwise(otherwise);
  return true;
}

void helpWithUnit(Evaluator& evaluator, diag::Builder& builder,
                  const Type& quantity, SourceRange range) {
  const std::string number(evaluator.sources.text(range));
  const size_t digits = number.find_first_not_of("0123456789._");
  const bool isBytes = quantity.unit == recipe::Unit::bytes;
  const std::string_view multiplier =
      digits == number.npos ? std::string_view()
                            : std::string_view(number).substr(digits);
  static constexpr std::string_view multipliers[] = {"k",  "M",  "G",  "T",
                                                     "Ki", "Mi", "Gi", "Ti"};
  const bool isMultiplied =
      digits != 0 && std::count(std::begin(multipliers), std::end(multipliers),
                                multiplier) > 0;
  if (isBytes && isMultiplied) {
    const std::string bytes =
        multiplier == "k" ? number.substr(0, digits) + "KB" : number + "B";
    builder.help("write `" + bytes + "`")
        .fixIt(range, bytes, diag::Applicability::safe);
    return;
  }
  const std::string otherwise = "write a unit behind the number, as in `" +
                                exampleOf(evaluator, quantity) + "`";
  if (!number.empty() && digits == number.npos && isBytes &&
      proposeBytes(evaluator, builder, number, otherwise))
    return;
  if (!number.empty() && digits == number.npos) {
    builder.help(
        "write a unit behind the number: " +
        (isBytes
             ? "`" + number + "GiB`, `" + number + "MiB` or `" + number + "B`"
             : "`" + number + "s`, `" + number + "min` or `" + number + "h`"));
    return;
  }
  builder.help(otherwise);
}

} // namespace recipec::sema
