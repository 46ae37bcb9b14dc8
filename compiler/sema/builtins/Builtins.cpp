// The table of built-in functions, and the checks of their arguments.
//
// 1. Assign each argument to the parameter it names, or to the next one.
// 2. Evaluate it and check it against the parameter's kind.
// 3. Count its size in steps, so that handlers do not have to.

#include "compiler/sema/builtins/Builtins.h"

#include "compiler/sema/builtins/BuiltinHandlers.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace recipec::sema {
namespace {

const std::vector<BuiltinFunction>& table() {
  static const std::vector<BuiltinFunction> functions = {
      // ---- numbers
      {"min",
       "The least of the arguments, or of the elements of one list: numbers, "
       "or quantities of one unit.",
       {{"values"}},
       1,
       unlimited,
       runMin},
      {"max",
       "The greatest of the arguments, or of the elements of one list.",
       {{"values"}},
       1,
       unlimited,
       runMax},
      {"abs",
       "The amount without its sign.",
       {{"value", Takes::amount}},
       1,
       1,
       runAbs},
      {"floor",
       "The next whole number below, an `int`; of a quantity, in the unit that "
       "it is written in: `floor(1.7GiB)` is `1GiB`.",
       {{"value", Takes::amount}},
       1,
       1,
       runFloor},
      {"ceil",
       "The next whole number above, as `floor` gives the one below.",
       {{"value", Takes::amount}},
       1,
       1,
       runCeil},
      {"round",
       "The nearest whole number; halves go away from zero.",
       {{"value", Takes::amount}},
       1,
       1,
       runRound},
      {"sqrt",
       "The square root of a number that is not negative, a `float`.",
       {{"value", Takes::number}},
       1,
       1,
       runSqrt},
      {"exp",
       "e to the power of the number.",
       {{"value", Takes::number}},
       1,
       1,
       runExp},
      {"log",
       "The logarithm of a positive number, natural or to a base.",
       {{"value", Takes::number}, {"base", Takes::number}},
       1,
       2,
       runLog},
      {"pow",
       "A power: of an `int` to an `int` that is not negative exact.",
       {{"base", Takes::number}, {"exponent", Takes::number}},
       2,
       2,
       runPow},
      {"int",
       "An `int` from a whole number or from decimal digits in a string.",
       {{"value"}},
       1,
       1,
       runInt},
      {"float",
       "A `float` from a number or from a string that writes one.",
       {{"value"}},
       1,
       1,
       runFloat},
      // ---- lists and maps
      {"len",
       "Code points of a string, elements of a list or range, keys of a map.",
       {{"value"}},
       1,
       1,
       runLen},
      {"sum",
       "The sum of numbers, or of quantities of one unit; 0 of an empty list.",
       {{"list", Takes::list}},
       1,
       1,
       runSum},
      {"sorted",
       "The list in rising order: numbers, quantities of one unit, or strings "
       "by their code points. Equal elements keep their order.",
       {{"list", Takes::list}},
       1,
       1,
       runSorted},
      {"reversed",
       "The list from its last element to its first.",
       {{"list", Takes::list}},
       1,
       1,
       runReversed},
      {"unique",
       "The list without the elements that equal an earlier one.",
       {{"list", Takes::list}},
       1,
       1,
       runUnique},
      {"flatten",
       "The elements of the lists in a list, one level deep.",
       {{"list", Takes::list}},
       1,
       1,
       runFlatten},
      {"zip",
       "The elements of equally long lists, side by side: `zip([1, 2], [\"a\", "
       "\"b\"])` is `[[1, \"a\"], [2, \"b\"]]`.",
       {{"lists", Takes::list}},
       2,
       unlimited,
       runZip},
      {"any",
       "Whether an element is true; `false` of an empty list.",
       {{"list", Takes::booleans}},
       1,
       1,
       runAny},
      {"all",
       "Whether every element is true; `true` of an empty list.",
       {{"list", Takes::booleans}},
       1,
       1,
       runAll},
      {"range",
       "The list of `begin`, `begin + step` ... before `end`. A negative step "
       "counts down.",
       {{"begin", Takes::integer},
        {"end", Takes::integer},
        {"step", Takes::integer}},
       2,
       3,
       runRange},
      {"keys",
       "The keys of a map, or names of a record's fields, in their order.",
       {{"map", Takes::map}},
       1,
       1,
       runKeys},
      {"values",
       "The values of a map, or of a record's fields, in the order of `keys`.",
       {{"map", Takes::map}},
       1,
       1,
       runValues},
      // ---- strings
      {"upper",
       "The text with `a` to `z` in capitals; other letters stay as they are.",
       {{"text", Takes::text}},
       1,
       1,
       runUpper},
      {"lower",
       "The text with `A` to `Z` in small letters; other letters stay as they "
       "are.",
       {{"text", Takes::text}},
       1,
       1,
       runLower},
      {"trim",
       "The text without spaces, tabs and line breaks at both ends.",
       {{"text", Takes::text}},
       1,
       1,
       runTrim},
      {"split",
       "The parts between separators; parts may be empty.",
       {{"text", Takes::text}, {"separator", Takes::text}},
       2,
       2,
       runSplit},
      {"join",
       "Strings, or other scalars as `str` writes them, with a separator "
       "between them.",
       {{"list", Takes::list}, {"separator", Takes::text}},
       2,
       2,
       runJoin},
      {"replace",
       "The text with `new` in every place of `old`, from left to right.",
       {{"text", Takes::text}, {"old", Takes::text}, {"new", Takes::text}},
       3,
       3,
       runReplace},
      {"starts_with",
       "Whether the text begins with the prefix.",
       {{"text", Takes::text}, {"prefix", Takes::text}},
       2,
       2,
       runStartsWith},
      {"ends_with",
       "Whether the text ends with the suffix.",
       {{"text", Takes::text}, {"suffix", Takes::text}},
       2,
       2,
       runEndsWith},
      {"pad",
       "At least `width` code points long: an `int` with zeros before its "
       "digits, `pad(7, 3)` is `\"007\"`; a string with spaces before it.",
       {{"value"}, {"width", Takes::integer}},
       2,
       2,
       runPad},
      {"str",
       "A scalar as an interpolation writes it: `str(2e-5)` is `\"2e-05\"`.",
       {{"value", Takes::scalar}},
       1,
       1,
       runStr},
  };
  return functions;
}

/// Evaluates and checks the arguments of one call.
class ArgumentReader {
public:
  ArgumentReader(BuiltinCall& call, const ast::Call& node, const Env& env)
      : call(call), node(node), env(env), function(call.function) {}

  bool run() {
    size_t next = 0;
    for (const ast::Argument& argument : node.arguments)
      if (!place(argument, next))
        return false;
    for (size_t i = 0; i < function.required; ++i)
      if (i >= given.size() || !given[i])
        return reportMissing(i);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i] && !read(*given[i], i))
        return false;
    return true;
  }

private:
  /// Assigns an argument to a parameter. Each parameter takes one argument,
  /// except that the last parameter of an unlimited function takes any number.
  bool place(const ast::Argument& argument, size_t& next) {
    size_t index = argument.name ? indexOf(argument.name->text) : next++;
    if (argument.name && index == function.parameters.size())
      return reportUnknown(*argument.name);
    if (index >= function.most)
      return reportExtra(placeOf(argument));
    if (given.size() <= index)
      given.resize(index + 1);
    if (given[index]) {
      call.evaluator.messages
          .report(diag::Kind::DuplicateName, placeOf(argument),
                  call.name() + " is given `" +
                      std::string(parameterOf(index).name) + "` twice")
          .label(placeOf(*given[index]), "it is given here first")
          .help("remove one of the two");
      return false;
    }
    given[index] = &argument;
    return true;
  }

  bool read(const ast::Argument& argument, size_t index) {
    Value value = call.evaluator.evaluate(argument.value, env);
    SourceRange range = placeOf(argument);
    if (value.isPoison() || !check(value, parameterOf(index), range))
      return false;
    call.places.push_back(range);
    call.arguments.push_back(std::move(value));
    return true;
  }

  bool check(Value& value, const BuiltinParameter& parameter,
             SourceRange range) {
    Evaluator& evaluator = call.evaluator;
    std::string what =
        "`" + std::string(parameter.name) + "` of " + call.name();
    switch (parameter.takes) {
    case Takes::any:
      break;
    case Takes::integer:
      value = expect(evaluator, value, Type::plain(Type::Kind::integer), range,
                     what);
      break;
    case Takes::number:
      if (!value.isNumber()) // an `int` stays an `int`
        value = expect(evaluator, value, Type::plain(Type::Kind::real), range,
                       what);
      break;
    case Takes::text:
      value = expect(evaluator, value, Type::plain(Type::Kind::string), range,
                     what);
      break;
    case Takes::amount:
      if (!value.isNumber() && !value.is<recipe::Quantity>())
        return reportType(value, parameter, range);
      break;
    case Takes::scalar:
      if (!value.isScalar())
        return reportType(value, parameter, range);
      break;
    case Takes::map:
      if (!value.is<Object*>())
        return reportType(value, parameter, range);
      break;
    case Takes::list:
    case Takes::booleans:
      if (!value.is<const ListValue*>() && !value.is<Range>())
        return reportType(value, parameter, range);
      value = asList(value, parameter.takes, range, what);
      break;
    }
    return !value.isPoison() && takeSize(value, range);
  }

  Value asList(const Value& value, Takes takes, SourceRange range,
               const std::string& what) {
    Evaluator& evaluator = call.evaluator;
    if (takes == Takes::booleans) {
      Type boolean = Type::plain(Type::Kind::boolean);
      Type list = Type::plain(Type::Kind::list);
      list.element = &boolean;
      return expect(evaluator, value, list, range, what);
    }
    if (value.is<const ListValue*>())
      return value;
    std::optional<std::vector<Value>> elements =
        evaluator.elementsOf(value, range);
    return elements ? evaluator.makeList(std::move(*elements), range)
                    : poison();
  }

  bool takeSize(const Value& value, SourceRange range) {
    size_t size = 0;
    if (const std::string* text = value.get<std::string>())
      size = text->size() / bytesOfStep;
    else if (const ListValue* const* list = value.get<const ListValue*>())
      size = (*list)->elements.size();
    return call.evaluator.limits.takeSteps(int64_t(size), range);
  }

  const BuiltinParameter& parameterOf(size_t index) const {
    return function.parameters[std::min(index, function.parameters.size() - 1)];
  }
  size_t indexOf(std::string_view name) const {
    auto found = std::find_if(
        function.parameters.begin(), function.parameters.end(),
        [&](const BuiltinParameter& each) { return each.name == name; });
    return size_t(found - function.parameters.begin());
  }
  SourceRange placeOf(const ast::Argument& argument) const {
    return (*env.file)[argument.value].range;
  }

  bool reportType(const Value& value, const BuiltinParameter& parameter,
                  SourceRange range) {
    call.evaluator.messages
        .report(diag::Kind::WrongType, range,
                "`" + std::string(parameter.name) + "` of " + call.name() +
                    " is of type `" + std::string(typeNameOf(parameter.takes)) +
                    "`, and this is of type `" +
                    fullTypeNameOf(call.evaluator.sources, value) + "`")
        .help(areSwapped()
                  ? "write `" + std::string(function.name) + "(" + textOf(1) +
                        ", " + textOf(0) + ")`: the other way round"
                  : callHelp());
    return false;
  }
  std::string textOf(size_t argument) const {
    return std::string(
        call.evaluator.sources.text(placeOf(node.arguments[argument])));
  }
  /// `join(",", list)`: the arguments the other way round.
  bool areSwapped() const {
    if (function.parameters.size() != 2 || node.arguments.size() != 2 ||
        node.arguments[0].name || node.arguments[1].name)
      return false;
    auto takes = [&](size_t argument, Takes due) {
      const Value value =
          call.evaluator.evaluate(node.arguments[argument].value, env);
      const bool isList = value.is<const ListValue*>() || value.is<Range>();
      return due == Takes::list ? isList
                                : due == Takes::text && value.is<std::string>();
    };
    const Takes first = function.parameters[0].takes;
    const Takes second = function.parameters[1].takes;
    return first != second && takes(0, second) && takes(1, first);
  }
  bool reportUnknown(const ast::Name& name) {
    std::vector<std::string> names;
    for (const BuiltinParameter& parameter : function.parameters)
      names.emplace_back(parameter.name);
    auto builder = call.evaluator.messages.report(
        diag::Kind::UnknownArgument, name.range,
        call.name() + " has no argument `" + name.text + "`");
    builder.suggestOrList(name.range, name.text, names, "its arguments are ");
    return false;
  }
  bool reportExtra(SourceRange range) {
    call.evaluator.messages
        .report(diag::Kind::UnknownArgument, range,
                call.name() + " takes " + std::to_string(function.most) +
                    (function.most == 1 ? " argument" : " arguments") +
                    ", not more")
        .help("remove what is too much; " + callHelp());
    return false;
  }
  bool reportMissing(size_t index) {
    auto builder = call.evaluator.messages.report(
        diag::Kind::MissingArgument, call.range,
        call.name() + " needs `" + std::string(parameterOf(index).name) + "`");
    if (function.run != runRange || given.size() != 1 || !given[0]) {
      builder.help(callHelp());
      return false;
    }
    std::string end(call.evaluator.sources.text(placeOf(*given[0])));
    builder.help("write `0.." + end + "`, which begins at 0")
        .fixIt(call.range, "0.." + end);
    return false;
  }

  std::string callHelp() const {
    return "it is called `" + formOf(function) + "`";
  }

  BuiltinCall& call;
  const ast::Call& node;
  const Env& env;
  const BuiltinFunction& function;
  std::vector<const ast::Argument*> given; // by parameter
};

} // namespace

// ---- arguments

std::string BuiltinCall::name() const {
  return "`" + std::string(function.name) + "`";
}

int64_t BuiltinCall::integer(size_t index) const {
  return *arguments[index].get<int64_t>();
}

double BuiltinCall::real(size_t index) const {
  const Value& value = arguments[index];
  if (const double* real = value.get<double>())
    return *real;
  if (const DimRef* dim = value.get<DimRef>())
    return double(dim->size);
  return double(*value.get<int64_t>());
}

const std::string& BuiltinCall::text(size_t index) const {
  return *arguments[index].get<std::string>();
}

const std::vector<Value>& BuiltinCall::list(size_t index) const {
  return (*arguments[index].get<const ListValue*>())->elements;
}

Object& BuiltinCall::map(size_t index) const {
  return **arguments[index].get<Object*>();
}

void BuiltinCall::reportElement(size_t list, size_t index,
                                std::string_view due) const {
  const Value& element = this->list(list)[index];
  SourceRange place = element.origin.range;
  SourceRange whole = places[list];
  bool isInside = place.source == whole.source && place.begin >= whole.begin &&
                  place.end <= whole.end;
  evaluator.messages
      .report(diag::Kind::WrongType, isInside ? place : whole,
              "element " + std::to_string(index) + " of the list of " + name() +
                  " is " + std::string(due) + ", and this is of type `" +
                  fullTypeNameOf(evaluator.sources, element) + "`")
      .help("it is called `" + formOf(function) + "`: " + summary());
}

void BuiltinCall::reportType(size_t index, std::string_view due) const {
  evaluator.messages
      .report(diag::Kind::WrongType, places[index],
              name() + " takes " + std::string(due) +
                  ", and this is of type `" +
                  fullTypeNameOf(evaluator.sources, arguments[index]) + "`")
      .help("it is called `" + formOf(function) + "`: " + summary());
}

std::string BuiltinCall::summary() const {
  std::string text(function.summary);
  text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  text.resize(text.find_last_not_of('.') + 1);
  return text;
}

diag::Builder BuiltinCall::reportValue(size_t index,
                                       std::string message) const {
  return evaluator.messages.report(diag::Kind::InvalidValue, places[index],
                                   std::move(message));
}

// ---- the table

std::span<const BuiltinFunction> builtinFunctions() {
  return table();
}

const BuiltinFunction* findBuiltin(std::string_view name) {
  for (const BuiltinFunction& function : table())
    if (function.name == name)
      return &function;
  return nullptr;
}

Value Calls::callBuiltin(Builtin builtin, const ast::Call& node,
                         SourceRange range, const Env& env) {
  BuiltinCall call{evaluator, *builtin.function, range, {}, {}};
  if (!ArgumentReader(call, node, env).run())
    return poison();
  return builtin.function->run(call);
}

} // namespace recipec::sema
