// Help with what a type takes; see TypeHelp.h.

#include "compiler/sema/types/TypeHelp.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Intent.h"
#include "compiler/sema/types/OpArguments.h"
#include "compiler/sema/types/Sources.h"
#include "compiler/sema/types/TriedValues.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {

void helpWithImport(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, SourceRange range) {
  Module* const* module = value.get<Module*>();
  if (!module)
    return;
  std::string written(evaluator.sources.text(range));
  std::string example;
  for (auto& [name, entry] : (*module)->entries)
    if (std::holds_alternative<ast::Let>(entry.declaration->node)) {
      example = name;
      break;
    }
  const bool hasOwn = (*module)->find(written.substr(written.rfind('.') + 1));
  if (hasOwn)
    builder.help("`" + written + "` is a file: its model of free sizes is `" +
                 written + "." + written + "`" +
                 (example.empty() ? ""
                                  : ", one of given sizes `" + written + "." +
                                        example + "`"));
  else if (!example.empty())
    builder.help("name one of its models, say `" + written + "." + example +
                 "`");
}

/// Splits a string into a list of its letters, `["M", "-", "M", "*"]` for
/// `pattern = "M-M*"`.
static bool helpWithLetters(Evaluator& evaluator, diag::Builder& builder,
                            const Value& value, const Type& type,
                            SourceRange range) {
  const std::string* text = value.get<std::string>();
  if (!text || text->empty() || type.kind != Type::Kind::list ||
      type.element->kind == Type::Kind::string)
    return false;
  std::string own;
  for (char letter : *text) {
    const std::string one(1, letter);
    if (letter < ' ' || !convert(evaluator, {one, {}}, *type.element))
      return false;
    own += (own.empty() ? "[\"" : ", \"") + one + "\"";
  }
  builder.help("write `" + own + "]`").fixIt(range, own + "]");
  return true;
}

void helpWithType(Evaluator& evaluator, diag::Builder& builder,
                  const Value& value, const Type& type, SourceRange range) {
  const std::string* name = value.get<std::string>();
  if (type.kind == Type::Kind::dim && name &&
      evaluator.sources.text(range) == "\"" + *name + "\"") {
    builder
        .help("write `" + *name +
              "`, without the quotation marks: a dimension is a field of type "
              "`dim`")
        .fixIt(range, *name);
    return;
  }
  if (type.kind == Type::Kind::model &&
      helpWithoutSign(evaluator, builder, value, range))
    return;
  if (type.kind == Type::Kind::model) {
    builder.help("write a model of the library, say `llama.llama3_8b` with "
                 "`import std.models.llama`, or one of your own");
    return;
  }
  auto [object, slot] = evaluator.typing;
  // For `none`, the summary in the field's comment may say which value disables
  // the feature, such as 0.
  if (value.is<recipe::None>() && object && object->schema && slot) {
    std::string summary = summaryOf(*object->schema, slot->name);
    if (!summary.empty()) {
      summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
      const ast::ExprId fallback = slot->field
                                       ? slot->field->declaration->defaultValue
                                       : ast::ExprId::none;
      const std::string own =
          fallback == ast::ExprId::none
              ? std::string()
              : std::string(evaluator.sources.text(
                    (*object->schema->layer.env->file)[fallback].range));
      builder.help("`" + std::string(slot->name) + "` is of type `" +
                   nameOf(type) + "`: " + summary +
                   (own.empty() || own.find('\n') != own.npos
                        ? "; write a value"
                        : "; leave it out for its default, `" + own + "`"));
      return;
    }
  }
  if (value.is<recipe::Auto>() && slot && slot->field &&
      slot->field->declaration->defaultValue != ast::ExprId::none) {
    const std::string_view given = evaluator.sources.text(
        (*object->schema->layer.env
              ->file)[slot->field->declaration->defaultValue]
            .range);
    builder.help("leave `" + std::string(slot->name) +
                 "` out for its default, `" + std::string(given) +
                 "`, or write a value");
    return;
  }
  if (helpWithTensor(evaluator, builder, value, type, range))
    return;
  if (value.is<Tensor>()) {
    builder.help("no tensor is taken here: ops take tensors, and `recipec doc "
                 "std.ops` lists them");
    return;
  }
  // `bias = 0`: the usual example `true` would suggest the opposite.
  const int64_t* bit = value.get<int64_t>();
  const bool isSwitch = findAlternative(
      type, [](const Type& each) { return each.kind == Type::Kind::boolean; });
  if (isSwitch && bit && (*bit == 0 || *bit == 1)) {
    const std::string word = *bit ? "true" : "false";
    builder.help("write `" + word + "`").fixIt(range, word);
    return;
  }
  if (helpWithoutAuto(evaluator, builder, value) ||
      helpWithFieldNames(evaluator, builder, value) ||
      helpWithSeveralFiles(evaluator, builder, value, type, range) ||
      helpWithSeveral(evaluator, builder, value, type, range) ||
      helpWithSweep(evaluator, builder, value, type, range))
    return;
  if (helpWithLetters(evaluator, builder, value, type, range))
    return;
  if (helpWithOtherRecord(evaluator, builder, value, type, range) ||
      helpWithDocumented(evaluator, builder, value, type))
    return;
  std::vector<std::string> examples;
  if (type.kind == Type::Kind::schema)
    examples = evaluator.library.recordsOf(*type.schema);
  if (!examples.empty()) { // devices
    builder.help("write one of " + diag::quotedList(examples, examples.size()) +
                 (value.is<std::string>() ? ", without quotation marks" : ""));
    return;
  }
  for (const Type* member : alternativesOf(type)) {
    const bool mayBeDefault =
        member->kind == Type::Kind::real || member->kind == Type::Kind::list;
    const bool isText = member->kind == Type::Kind::string && object && slot;
    std::string example = mayBeDefault ? defaultAsExample(evaluator, *member)
                          : isText     ? exampleFor(*object, *slot)
                                       : "";
    if (example.empty())
      example = exampleOf(evaluator, *member);
    if (!example.empty())
      examples.push_back(std::move(example));
  }
  // `init = 0.02`: show each record that can be made from the user's number.
  std::vector<std::string> made;
  for (const Type* member : alternativesOf(type))
    if (std::string text = madeOfNumber(evaluator, value, *member, range);
        !text.empty())
      made.push_back(std::move(text));
  if (!made.empty())
    builder.help("write " + joinAlternatives(made));
  else if (type.kind == Type::Kind::integer && examples.size() == 1 &&
           proposeNumbers(evaluator, builder, "write a number, say ",
                          "write, for example, `" + examples[0] + "`"))
    return;
  else if (!examples.empty() && examples.size() <= listedAlternatives)
    builder.help("write, for example, " + joinAlternatives(examples) +
                 (value.is<std::string>() ? choiceFor(evaluator, type) : ""));
}

} // namespace recipec::sema
