// Binds arguments to parameters.
//
// 1. Evaluate each argument and assign it to the parameter it names, or to the
//    next one; with a scope, take out `name` and `hf`.
// 2. Convert its value to the parameter's type.
// 3. Use the default of a parameter without an argument, or report it.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Examples.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/OpArguments.h"

#include <algorithm>

namespace recipec::sema {
namespace {

class Binder {
public:
  Binder(Evaluator& evaluator, const std::vector<ParameterRef>& parameters,
         const ast::Call& node, SourceRange range, const Env& env,
         const std::string& callee, ScopeArguments* scope, const Type* untyped)
      : evaluator(evaluator), parameters(parameters), node(node), range(range),
        env(env), callee(callee), scope(scope), untyped(untyped),
        bound(parameters.size()),
        behind(evaluator.calls.takeArgumentsBehind()) {}

  std::optional<std::vector<BoundArgument>> run() {
    for (const ast::Argument& argument : node.arguments)
      values.push_back(evaluator.evaluate(argument.value, env));
    size_t next = 0;
    for (size_t i = 0;
         i < values.size() && !lacksBrackets(i, next) && !areSwapped(i, next) &&
         !isShape(i, next) && !lacksOperand(i, next) &&
         !isUnnamedName(i, next) && !isTensorList(i, next);
         ++i) {
      const ast::Argument& argument = node.arguments[i];
      bindGiven(i, argument.name ? indexOf(argument.name->text) : next++);
    }
    for (size_t i = 0; i < parameters.size(); ++i)
      if (!bound[i].value)
        bindDefault(i);
    if (!isGood)
      return std::nullopt;
    return std::move(bound);
  }

private:
  size_t indexOf(std::string_view name) const {
    auto found = std::find_if(parameters.begin(), parameters.end(),
                              [&](const ParameterRef& parameter) {
                                return parameter.declaration->name.text == name;
                              });
    return size_t(found - parameters.begin());
  }

  SourceRange placeOf(const ast::Argument& argument) const {
    return (*env.file)[argument.value].range;
  }

  std::optional<BoundArgument>* scopeArgument(const ast::Argument& argument) {
    if (!scope || !argument.name)
      return nullptr;
    if (argument.name->text == "name")
      return &scope->name;
    return argument.name->text == "hf" ? &scope->hf : nullptr;
  }

  const Type& typeOf(const ParameterRef& parameter) const {
    ast::TypeId type = parameter.declaration->type;
    return type == ast::TypeId::none
               ? *untyped
               : *evaluator.types.resolve(*parameter.env, type);
  }

  /// Reports a list whose brackets are missing: `f(a, b)` for `f([a, b])`,
  /// `f(a -> b, c)` for `f(a -> [b, c])` or `f(a, b -> c)` for
  /// `f([a, b] -> c)`. Argument `first` is the first element and belongs to
  /// `parameter`. Without this report, the later elements would be reported as
  /// arguments of other parameters.
  bool lacksBrackets(size_t first, size_t parameter) {
    if (parameter >= parameters.size() || !isPositional(first))
      return false;
    const Type& type = typeOf(parameters[parameter]);
    size_t end = first + 1;
    std::string text;
    if (type.kind == Type::Kind::list) {
      for (end = first; fits(end, *type.element);)
        ++end;
      if (end - first < 2)
        return false;
      text = "[" + textOf(first, end) + "]";
    } else if (type.kind == Type::Kind::mapping) {
      const Type dim = Type::plain(Type::Kind::dim);
      const bool beginsWithMapping = fits(first, type);
      // The first dimension after `a -> b` may belong to the next parameter.
      if (beginsWithMapping && parameter + 1 < parameters.size() &&
          fits(first + 1, typeOf(parameters[parameter + 1])))
        return false;
      for (end = first + beginsWithMapping; fits(end, dim);)
        ++end;
      const bool endsWithMapping = !beginsWithMapping && fits(end, type);
      if (!beginsWithMapping && !endsWithMapping)
        return end - first == 2 && lacksArrow(first, parameter);
      end += endsWithMapping;
      text = textOf(first, end);
      const size_t arrow = text.find("->");
      text =
          beginsWithMapping
              ? text.substr(0, arrow) + "-> [" +
                    text.substr(text.find_first_not_of(' ', arrow + 2)) + "]"
              : "[" +
                    text.substr(0, text.find_last_not_of(' ', arrow - 1) + 1) +
                    "] " + text.substr(arrow);
      if (text.find('[', text.find('[') + 1) != text.npos)
        return false; // one list has its brackets: another mistake
    }
    if (end - first < 2)
      return false;
    reportSeveral(first, end, parameter, text);
    return true;
  }

  /// Reports two arguments in swapped order: `linear(hidden -> ffn, x)`.
  bool areSwapped(size_t first, size_t parameter) {
    if (parameter + 1 >= parameters.size() || !isPositional(first) ||
        !isPositional(first + 1))
      return false;
    const Type& one = typeOf(parameters[parameter]);
    const Type& other = typeOf(parameters[parameter + 1]);
    if (fits(first, one) || fits(first + 1, other) || !fits(first, other) ||
        !fits(first + 1, one))
      return false;
    isGood = false;
    hasUnknown = true;
    const std::string own =
        textOf(first + 1, first + 2) + ", " + textOf(first, first + 1);
    const SourceRange place = cover(placeOf(node.arguments[first]),
                                    placeOf(node.arguments[first + 1]));
    evaluator.messages
        .report(diag::Kind::WrongType, place,
                "`" + callee + "` takes `" +
                    parameters[parameter].declaration->name.text +
                    "` before `" +
                    parameters[parameter + 1].declaration->name.text +
                    "`, and these are the other way round")
        .help("write `" + callee + "(" + own +
              (node.arguments.size() > first + 2 ? ", ...)`" : ")`"))
        .fixIt(place, own, diag::Applicability::safe);
    return true;
  }

  /// Reports an op without its operand: `linear(hidden -> ffn, name = "up")`.
  /// In PyTorch a module is made first and called later.
  bool lacksOperand(size_t argument, size_t parameter) {
    if (!scope || parameter + 1 >= parameters.size() ||
        !isPositional(argument) || !takesTensor(typeOf(parameters[parameter])))
      return false;
    const Type& next = typeOf(parameters[parameter + 1]);
    if (takesTensor(next) || !values[argument].is<const Mapping*>() ||
        !fits(argument, next))
      return false;
    isGood = false;
    hasUnknown = true;
    const std::string operand = parameters[parameter].declaration->name.text;
    auto builder = evaluator.messages.report(
        diag::Kind::MissingArgument, placeOf(node.arguments[argument]),
        "`" + callee + "` takes its operand `" + operand +
            "` in the same call, before `" +
            parameters[parameter + 1].declaration->name.text + "`");
    const std::string call = withOperand();
    builder.help(
        "write `" +
        (call.empty() ? callee + "(" + operandText() + ", ...)" : call) + "`");
    return true;
  }

  /// The operand to show in an example of the call.
  std::string operandText() const {
    return behind.empty()
               ? onlyTensor(env, parameters.front().declaration->name.text)
               : behind;
  }

  /// The call with its operand before the other arguments; empty if it has
  /// several lines.
  std::string withOperand() const {
    std::string text = callee + "(" + operandText();
    for (size_t i = 0; i < node.arguments.size(); ++i)
      text += ", " +
              (node.arguments[i].name ? node.arguments[i].name->text + " = "
                                      : std::string()) +
              textOf(i, i + 1);
    return text.find('\n') == text.npos ? text + ")" : std::string();
  }

  bool isDim(size_t argument) const {
    return isPositional(argument) && values[argument].is<DimRef>();
  }

  /// Reports the name of a call without `name =` before it:
  /// `rmsnorm(x, "norm")`.
  bool isUnnamedName(size_t argument, size_t parameter) {
    if (!scope || !isPositional(argument) || !isWrittenText(argument))
      return false;
    const std::string& text = *values[argument].get<std::string>();
    const bool isMeant = parameter < parameters.size();
    if (isMeant &&
        (mayMeanText(evaluator, typeOf(parameters[parameter]), text) ||
         fits(argument, typeOf(parameters[parameter]))))
      return false;
    isGood = false;
    hasUnknown = true;
    reportText(evaluator, callee, text, placeOf(node.arguments[argument]),
               isMeant ? parameters[parameter].declaration->name.text : "");
    return true;
  }

  /// Whether an argument is written as a string literal.
  bool isWrittenText(size_t argument) const {
    return values[argument].is<std::string>() &&
           std::holds_alternative<ast::StringLiteral>(
               (*env.file)[node.arguments[argument].value].node);
  }

  /// Reports dimensions in place of a tensor with these dimensions, as other
  /// tools accept: `embedding(tokens, vocab, hidden)`, `linear(hidden, ffn)`.
  /// Without this report, each dimension would be reported separately.
  bool isShape(size_t first, size_t parameter) {
    size_t end = first;
    while (isDim(end))
      ++end;
    if (!scope || end == first || parameter >= parameters.size() ||
        !takesTensor(typeOf(parameters[parameter])))
      return false;
    isGood = false;
    hasUnknown = true;
    const bool isOne = end - first == 1;
    const SourceRange place =
        cover(placeOf(node.arguments[first]), placeOf(node.arguments[end - 1]));
    auto builder = evaluator.messages.report(
        diag::Kind::WrongType, place,
        "`" + parameters[parameter].declaration->name.text + "` of `" + callee +
            "` is of type `tensor`, and " +
            (isOne ? "this is a dimension" : "these are dimensions"));
    const std::string call = callWithTensor(first, end, parameter);
    if (!call.empty())
      builder.help((parameter == 0 && isOne
                        ? "an op has its sizes from its operand: write `"
                        : "write `") +
                   call + "`");
    else if (parameter > 0)
      builder.help("a tensor of them is `parameter([" + textOf(first, end) +
                   "], name = \"...\")`");
    else
      builder.help("the tensor comes first: `" + callee + "(" + operandText() +
                   ", ...)`");
    return true;
  }

  /// The call with a tensor in place of the dimensions `first` to `end`.
  std::string callWithTensor(size_t first, size_t end, size_t parameter) const {
    const std::string dims = textOf(first, end);
    const std::string x = operandText();
    const bool isFollowed = parameter + 1 < parameters.size();
    const Type* next =
        isFollowed ? &typeOf(parameters[parameter + 1]) : nullptr;
    std::string text = parameter > 0 ? textOf(0, first) : x;
    bool makesTable = parameter > 0;
    if (parameter == 0 && next && next->kind == Type::Kind::mapping) {
      if (end - first != 2)
        return {};
      text += ", " + textOf(first, first + 1) + " -> " + textOf(first + 1, end);
    } else if (parameter == 0 && next && next->kind == Type::Kind::tensor) {
      makesTable = true;
    } else if (parameter == 0 && end - first > 1) {
      return {};
    }
    std::string name, others;
    for (size_t i = end; i < node.arguments.size(); ++i) {
      const ast::Argument& each = node.arguments[i];
      const std::string written =
          (each.name ? each.name->text + " = " : "") + textOf(i, i + 1);
      const bool isScope =
          each.name && (each.name->text == "name" || each.name->text == "hf");
      (makesTable && isScope ? name : others) += ", " + written;
    }
    if (makesTable)
      text += ", parameter([" + dims + "]" +
              (name.empty() ? ", name = \"...\"" : name) + ")";
    text = callee + "(" + text + others + ")";
    return text.find('\n') == text.npos ? text : std::string();
  }

  /// Reports a dimension for an op's parameter that takes a number:
  /// `rmsnorm(x, hidden)` takes an `eps`, but no width. A dimension given by
  /// name, or as the factor of `scale`, is used as a number.
  bool isDimForNumber(size_t given, const std::string& name, const Type& type) {
    const bool isNumber =
        type.kind == Type::Kind::real ||
        std::ranges::any_of(type.members, [](const Type* member) {
          return member->kind == Type::Kind::real;
        });
    if (!scope || !isDim(given) || !isNumber || callee == "scale" ||
        !evaluator.modules.ops() || !evaluator.modules.ops()->find(callee))
      return false;
    const ast::Argument& argument = node.arguments[given];
    evaluator.messages
        .report(diag::Kind::WrongType, placeOf(argument),
                "`" + name + "` of `" + callee + "` is of type `" +
                    nameOf(type) + "`, and this is the dimension `" +
                    textOf(given, given + 1) + "`")
        .help("leave it out: `" + callee +
              "` has its sizes from its operand; a number is given by name, "
              "`" +
              name + " = ...`");
    return true;
  }

  /// Reports `f(a, b)` as a misspelt `f(a -> b)`.
  bool lacksArrow(size_t first, size_t parameter) {
    reportSeveral(first, first + 2, parameter,
                  textOf(first, first + 1) + " -> " +
                      textOf(first + 1, first + 2));
    return true;
  }

  /// Reports that arguments `first` to `end` should be one, written as `text`.
  void reportSeveral(size_t first, size_t end, size_t parameter,
                     const std::string& text) {
    isGood = false;
    hasUnknown = true;
    const SourceRange place =
        cover(placeOf(node.arguments[first]), placeOf(node.arguments[end - 1]));
    evaluator.messages
        .report(diag::Kind::WrongType, place,
                "`" + parameters[parameter].declaration->name.text + "` of `" +
                    callee + "` is one argument of type `" +
                    nameOf(typeOf(parameters[parameter])) +
                    "`, and these are " + std::to_string(end - first))
        .help("write `" + text + "`")
        .fixIt(place, text);
  }

  bool isPositional(size_t argument) const {
    return argument < values.size() && !node.arguments[argument].name;
  }

  bool fits(size_t argument, const Type& type) const {
    return isPositional(argument) && !values[argument].isPoison() &&
           convert(evaluator, values[argument], type);
  }

  std::string textOf(size_t first, size_t end) const {
    return std::string(evaluator.sources.text(cover(
        placeOf(node.arguments[first]), placeOf(node.arguments[end - 1]))));
  }

  /// Reports a number for a parameter without a type, such as `i` in
  /// `layer(x, i)`. The first parameter of a block without a type is meant to
  /// be a tensor.
  bool lacksType(size_t given, size_t index) {
    const ast::Parameter& parameter = *parameters[index].declaration;
    if (!scope || index == 0 || parameter.type != ast::TypeId::none ||
        bound[index].value ||
        !reportUntyped(evaluator, callee, parameter, values[given],
                       placeOf(node.arguments[given])))
      return false;
    isGood = false;
    bound[index].value.emplace();
    return true;
  }

  /// Reports a list of tensors: `concat([a, b], to = both)`.
  bool isTensorList(size_t argument, size_t parameter) {
    size_t end = parameter;
    while (end < parameters.size() && takesTensor(typeOf(parameters[end])))
      ++end;
    const ListValue* const* list =
        isPositional(argument) ? values[argument].get<const ListValue*>()
                               : nullptr;
    if (!scope || end == parameter || !list || (*list)->elements.empty() ||
        !std::ranges::all_of((*list)->elements, [](const Value& each) {
          return each.is<Tensor>();
        }))
      return false;
    isGood = false;
    hasUnknown = true;
    reportTensorList(evaluator, callee, **list, end - parameter,
                     placeOf(node.arguments[argument]));
    return true;
  }

  void bindGiven(size_t given, size_t index) {
    const ast::Argument& argument = node.arguments[given];
    if (index < parameters.size() && lacksType(given, index))
      return;
    if (index < parameters.size()) {
      store(given, parameters[index].declaration->name.text, bound[index],
            typeOf(parameters[index]));
      return;
    }
    if (std::optional<BoundArgument>* special = scopeArgument(argument)) {
      if (!*special)
        special->emplace();
      store(given, argument.name->text, **special,
            Type::plain(Type::Kind::string));
      return;
    }
    reportUnknown(argument);
  }

  void store(size_t given, const std::string& name, BoundArgument& target,
             const Type& type) {
    const ast::Argument& argument = node.arguments[given];
    SourceRange place = placeOf(argument);
    if (target.value) {
      isGood = false;
      evaluator.messages
          .report(diag::Kind::DuplicateName, place,
                  "`" + callee + "` is given `" + name + "` twice")
          .label(target.range, "it is given here first")
          .help("remove one of the two");
      return;
    }
    target.range = argument.name ? cover(argument.name->range, place) : place;
    if (lacksSource(given, name, type) || isDimForNumber(given, name, type)) {
      isGood = false;
      target.value.emplace();
      return;
    }
    const int errors = evaluator.messages.errors();
    target.value = expect(evaluator, values[given], type, place,
                          "`" + name + "` of `" + callee + "`");
    // `layer(x, pattern[i])`: the wrong string is written in the list.
    if (scope && values[given].is<std::string>() && !isWrittenText(given) &&
        evaluator.messages.errors() > errors)
      evaluator.messages.labelLast(values[given].origin.range,
                                   "its value is written here");
    isGood = isGood && !target.value->isPoison();
  }

  /// Reports `linear(x, hidden)` for `linear(x, ffn -> hidden)`, where the
  /// tensor is known to end in `ffn`.
  bool lacksSource(size_t given, const std::string& name, const Type& type) {
    const DimRef* dim = values[given].get<DimRef>();
    const Tensor* tensor =
        values.empty() ? nullptr : values.front().get<Tensor>();
    if (type.kind != Type::Kind::mapping || !dim || !tensor ||
        !evaluator.tracer)
      return false;
    const std::string source = evaluator.tracer->lastDims(tensor->id);
    const std::string written(
        evaluator.sources.text(placeOf(node.arguments[given])));
    if (source.empty() || source == written)
      return false;
    const std::string text = source + " -> " + written;
    evaluator.messages
        .report(diag::Kind::WrongType, placeOf(node.arguments[given]),
                "`" + name + "` of `" + callee + "` is of type `" +
                    nameOf(type) + "`, and this is of type `dim`")
        .help("write `" + text + "`")
        .fixIt(placeOf(node.arguments[given]), text);
    return true;
  }

  void reportUnknown(const ast::Argument& argument) {
    isGood = false;
    hasUnknown = true;
    if (parameters.empty() && !scope) {
      evaluator.messages
          .report(diag::Kind::UnknownArgument, placeOf(argument),
                  "`" + callee + "` takes no arguments")
          .help("write `" + callee + "()`");
      return;
    }
    if (!argument.name) {
      size_t count = parameters.size();
      auto builder = evaluator.messages.report(
          diag::Kind::UnknownArgument, placeOf(argument),
          "`" + callee + "` takes " + std::to_string(count) +
              (count == 1 ? " argument" : " arguments") + ", not more");
      if (count > 0)
        builder.label(cover(parameters.front().declaration->name.range,
                            parameters.back().declaration->name.range),
                      "`" + callee + "` is declared with " +
                          (count == 1 ? "this" : "these"));
      builder.help("remove what is too much");
      return;
    }
    std::vector<std::string> names;
    for (const ParameterRef& parameter : parameters)
      names.push_back(parameter.declaration->name.text);
    if (scope) {
      names.emplace_back("name");
      names.emplace_back("hf");
    }
    auto builder = evaluator.messages.report(
        diag::Kind::UnknownArgument, argument.name->range,
        "`" + callee + "` has no argument `" + argument.name->text + "`");
    if (!scope ||
        !helpWithOpArgument(evaluator, builder, callee, *argument.name))
      builder.suggestOrList(argument.name->range, argument.name->text, names,
                            names.size() == 1 ? "its argument is "
                                              : "its arguments are ");
  }

  void bindDefault(size_t index) {
    const ast::Parameter& parameter = *parameters[index].declaration;
    const Env& outside = *parameters[index].env;
    if (parameter.defaultValue == ast::ExprId::none) {
      isGood = false;
      if (hasUnknown) // the unknown argument was probably meant for this
        return;
      evaluator.messages
          .report(diag::Kind::MissingArgument, range,
                  "`" + callee + "` needs `" + parameter.name.text + "`")
          .label(parameter.name.range, "`" + callee + "` is declared with it")
          .help(parameters.front().declaration->name.text == "self"
                    ? "blocks and functions have no `self`: remove it from the "
                      "declaration"
                    : helpWithMissing(parameter, typeOf(parameters[index])));
      return;
    }
    Value value = evaluator.evaluate(parameter.defaultValue, outside);
    if (parameter.type != ast::TypeId::none)
      value = expect(evaluator, value,
                     *evaluator.types.resolve(outside, parameter.type),
                     (*outside.file)[parameter.defaultValue].range,
                     "`" + parameter.name.text + "`");
    value.origin.kind = recipe::Origin::Kind::defaultValue;
    isGood = isGood && !value.isPoison();
    bound[index] = {std::move(value), range};
  }

  /// `add `top_k = 4`, an `int`, to the arguments`
  std::string helpWithMissing(const ast::Parameter& parameter,
                              const Type& type) const {
    std::string example = exampleOf(evaluator, type);
    const std::string name = type.kind == Type::Kind::any ? "" : nameOf(type);
    const bool isFirst = &parameter == parameters.front().declaration;
    if (takesTensor(type) && isFirst && !behind.empty())
      if (const std::string call = withOperand(); !call.empty())
        return "an op takes its operand in the same call: write `" + call + "`";
    if (takesTensor(type))
      return "add a tensor to the arguments, `" + parameter.name.text +
             " = ...`: what an op or a block returns";
    // If the model has a dimension of this name, it is the one that is meant.
    if (type.kind == Type::Kind::dim) {
      const std::optional<Value> own =
          evaluator.lookup.find(parameter.name.text, env);
      return "add `" + parameter.name.text + " = " +
             (own && own->is<DimRef>() ? parameter.name.text : "...") +
             "` to the arguments, a dimension of the model";
    }
    if (example.empty() || name.empty())
      return "add `" + parameter.name.text + " = ...` to the arguments";
    return "add `" + parameter.name.text +
           " = ...` to the arguments, of type `" + name + "`, such as `" +
           parameter.name.text + " = " + example + "`";
  }

  Evaluator& evaluator;
  const std::vector<ParameterRef>& parameters;
  const ast::Call& node;
  SourceRange range;
  const Env& env;
  const std::string& callee;
  ScopeArguments* scope;
  const Type* untyped;
  std::vector<Value> values; // of the call's arguments, in its order
  std::vector<BoundArgument> bound;
  std::string behind; // arguments of a second call: `linear(a -> b)(x)`
  bool isGood = true;
  bool hasUnknown = false; // an argument that no parameter takes
};

} // namespace

std::vector<ParameterRef>
Calls::parametersOf(const std::vector<ast::Parameter>& parameters,
                    const Env* env) {
  std::vector<ParameterRef> refs;
  refs.reserve(parameters.size());
  for (const ast::Parameter& parameter : parameters)
    refs.push_back({&parameter, env});
  return refs;
}

std::optional<std::vector<BoundArgument>>
Calls::bind(const std::vector<ParameterRef>& parameters, const ast::Call& node,
            SourceRange range, const Env& env, const std::string& callee,
            ScopeArguments* scope, const Type* untyped) {
  return Binder(evaluator, parameters, node, range, env, callee, scope, untyped)
      .run();
}

} // namespace recipec::sema
