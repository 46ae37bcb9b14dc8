// See OpArguments.h.

#include "compiler/sema/types/OpArguments.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/values/Comments.h"

#include <algorithm>

namespace recipec::sema {

bool takesTensor(const Type& type) {
  return type.kind == Type::Kind::tensor ||
         std::ranges::any_of(type.members, [](const Type* member) {
           return member->kind == Type::Kind::tensor;
         });
}

/// The dimensions of a mapping as a shape: `[vocab, hidden]`.
static std::string shapeOf(const Mapping& mapping) {
  std::string shape;
  for (const std::vector<DimRef>* side : {&mapping.from, &mapping.to})
    for (const DimRef& dim : *side)
      shape += (shape.empty() ? "[" : ", ") + std::string(dim.name);
  return shape + "]";
}

bool helpWithTensor(Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, const Type& type, SourceRange range) {
  if (!takesTensor(type))
    return false;
  const std::string* name = value.get<std::string>();
  const SourceRange made =
      name ? evaluator.parameterMade(*name) : SourceRange{};
  const std::string call(evaluator.sources.text(made));
  if (made.isValid() && call.find('\n') == call.npos) {
    builder.label(made, "the parameter `" + *name + "` is made here")
        .help("bind it before, `table = " + call +
              "`, and write `table` in its place and here");
    return true;
  }
  const std::string written(evaluator.sources.text(range));
  const ListValue* const* list = value.get<const ListValue*>();
  const bool isShape =
      value.is<DimRef>() || (list && !(*list)->elements.empty() &&
                             (*list)->elements.front().is<DimRef>());
  std::string shape = list ? written : "[" + written + ", ...]";
  if (const Mapping* const* mapping = value.get<const Mapping*>())
    shape = shapeOf(**mapping);
  else if (!isShape)
    shape.clear();
  const std::string as = name ? *name : "...";
  if (shape.empty())
    builder.help("give a tensor: what an op or a block returns, or "
                 "`parameter([vocab, hidden], name = \"" +
                 as + "\")`");
  else
    builder.help("a tensor of this shape is `parameter(" + shape +
                 ", name = \"...\")`");
  return true;
}

void reportTensorList(Evaluator& evaluator, const std::string& callee,
                      const ListValue& list, size_t taken, SourceRange place) {
  const std::string written(evaluator.sources.text(place));
  const bool isList = written.starts_with('[') && written.ends_with(']');
  const size_t count = list.elements.size();
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, place,
      "`" + callee + "` takes each tensor as an argument of its own, and " +
          "this is a list of " + std::to_string(count));
  if (count > taken)
    builder.help("it takes " + std::to_string(taken) + ": call `" + callee +
                 "` again with its result and the next one");
  else if (!isList || written.find('\n') != written.npos)
    builder.help("write the tensors without a list");
  else if (const std::string own = written.substr(1, written.size() - 2);
           !own.empty())
    builder
        .help("write `" + callee + "(" + own + ", ...)`, without the brackets")
        .fixIt(place, own, diag::Applicability::safe);
}

/// The type to declare for a parameter that takes this value; empty for values
/// whose type cannot be declared.
static std::string declarableTypeOf(const Value& value) {
  const bool isPlain = value.is<int64_t>() || value.is<double>() ||
                       value.is<bool>() || value.is<std::string>();
  return isPlain || value.is<DimRef>() ? typeNameOf(value) : std::string();
}

bool reportUntyped(Evaluator& evaluator, const std::string& callee,
                   const ast::Parameter& parameter, const Value& value,
                   SourceRange place) {
  const std::string type = declarableTypeOf(value);
  const std::string& name = parameter.name.text;
  if (type.empty())
    return false;
  const SourceRange declared = parameter.name.range;
  evaluator.messages
      .report(diag::Kind::WrongType, place,
              "`" + name + "` of `" + callee +
                  "` is declared without a type, so that it is a tensor, and "
                  "this is of type `" +
                  type + "`")
      .label(declared, "it is declared here")
      .help("declare it with its type, `" + name + ": " + type + "`")
      .fixIt({declared.source, declared.end, declared.end}, ": " + type)
      .otherwise("give a tensor: what an op or a block returns");
  return true;
}

std::string onlyTensor(const Env& env, const std::string& otherwise) {
  std::string only;
  for (const Env* at = &env; at && !at->object; at = at->outer) {
    if (!at->locals)
      continue;
    for (const auto& [name, value] : at->locals->names) {
      if (!value.is<Tensor>())
        continue;
      if (!only.empty())
        return otherwise;
      only = name;
    }
  }
  return only.empty() ? otherwise : only;
}

bool mayMeanText(const Evaluator& evaluator, const Type& type,
                 const std::string& text) {
  const std::vector<const Type*> members = alternativesOf(type);
  const bool hasChoices = std::ranges::any_of(members, [](const Type* each) {
    return each->kind == Type::Kind::literal;
  });
  return hasChoices || type.kind == Type::Kind::tensor ||
         (takesTensor(type) && evaluator.parameterMade(text).isValid());
}

void reportText(Evaluator& evaluator, const std::string& callee,
                const std::string& text, SourceRange place,
                const std::string& parameter) {
  if (!parameter.empty() && text.find("->") != text.npos) {
    evaluator.messages
        .report(diag::Kind::WrongType, place,
                "`" + parameter + "` of `" + callee +
                    "` is a mapping of dimensions, and this is a string")
        .help("write `" + text + "`, without the quotation marks")
        .fixIt(place, text)
        .otherwise("a mapping is written `hidden -> ffn`, of dimensions of the "
                   "model and without quotation marks");
    return;
  }
  evaluator.messages
      .report(diag::Kind::WrongType, place,
              "the name of a call is given as `name = ...`, and this argument "
              "of `" +
                  callee + "` stands for another one")
      .help("write `name = " + std::string(evaluator.sources.text(place)) + "`")
      .fixIt({place.source, place.begin, place.begin},
             "name = ", diag::Applicability::safe);
}

std::string recordsOfArgument(Evaluator& evaluator, const ast::File& file,
                              const ast::Call& call, size_t argument) {
  const auto* callee = std::get_if<ast::NameRef>(&file[call.callee].node);
  const Module* ops = evaluator.modules.ops();
  const ModuleEntry* entry =
      callee && ops ? ops->find(callee->name.text) : nullptr;
  const auto* op =
      entry ? std::get_if<ast::BlockDecl>(&entry->declaration->node) : nullptr;
  if (!op)
    return {};
  const ast::Argument& given = call.arguments[argument];
  for (size_t i = 0; i < op->parameters.size(); ++i) {
    const ast::Parameter& parameter = op->parameters[i];
    const bool isMeant =
        given.name ? given.name->text == parameter.name.text : i == argument;
    if (!isMeant || parameter.type == ast::TypeId::none)
      continue;
    const Type& type = *evaluator.types.resolve(ops->env, parameter.type);
    std::vector<std::string> forms;
    for (const Schema* schema : schemasOf(type))
      forms.push_back(
          exampleOf(evaluator, *schema, std::string(schema->shownName())));
    if (forms.empty())
      return {};
    return "`" + parameter.name.text + "` of `" + callee->name.text +
           "` takes " + joinAlternatives(forms);
  }
  return {};
}

/// The help for arguments that other tools have and no op has; empty for other
/// names.
static std::string_view whyNoOpTakes(std::string_view name) {
  if (name == "dtype" || name == "params_dtype")
    return "leave it out: `precision` of the recipe says the types";
  if (name == "device")
    return "leave it out: `cluster` of the recipe says the devices";
  if (name == "inplace" || name == "out")
    return "leave it out: where results are written is planned";
  if (name == "training" || name == "train" || name == "deterministic")
    return "leave it out: an op knows whether the model is in training";
  if (name == "requires_grad")
    return "leave it out: an `adapter` trains its own parameters alone, a "
           "recipe without one all";
  return {};
}

bool helpWithOpArgument(Evaluator& evaluator, diag::Builder& builder,
                        const std::string& op, const ast::Name& name) {
  const ModuleEntry* entry =
      evaluator.modules.ops() ? evaluator.modules.ops()->find(op) : nullptr;
  if (!entry)
    return false;
  const ast::Comments& comments = entry->declaration->comments;
  if (auto own = argumentListedAs(comments, name.text)) {
    builder.help("that is `" + *own + "` here").fixIt(name.range, *own);
    return true;
  }
  const std::string why = whyAbsent(comments, name.text);
  const std::string_view general = whyNoOpTakes(name.text);
  if (!why.empty())
    builder.help(why + ": leave it out");
  else if (!general.empty())
    builder.help(std::string(general));
  return !why.empty() || !general.empty();
}

recipe::WrittenOperand writtenOperand(const Evaluator& evaluator,
                                      std::string_view parameter,
                                      SourceRange range) {
  auto skipBlanks = [](std::string_view text) {
    const size_t begin = text.find_first_not_of(" \n");
    return begin == text.npos ? std::string_view() : text.substr(begin);
  };
  const std::string_view whole = evaluator.sources.text(range);
  if (whole.starts_with(parameter)) {
    std::string_view behind = skipBlanks(whole.substr(parameter.size()));
    if (behind.starts_with('=') && !behind.starts_with("==")) {
      behind = skipBlanks(behind.substr(1));
      range.begin = range.end - uint32_t(behind.size());
      return {std::string(parameter), range, std::string(behind)};
    }
  }
  return {std::string(parameter), range, std::string(whole)};
}

} // namespace recipec::sema
