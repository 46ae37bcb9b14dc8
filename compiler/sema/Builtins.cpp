// The functions that the language has by itself: `min max floor ceil sqrt len
// sum`.

#include "compiler/sema/Evaluator.h"

#include <cmath>

namespace recipec::sema {

std::optional<std::vector<Value>>
Evaluator::builtinArguments(const ast::Call& node, const std::string& name,
                            size_t count, SourceRange range, const Env& env) {
  std::vector<Value> values;
  for (const ast::Argument& argument : node.arguments) {
    if (argument.name) {
      report(diag::Kind::UnknownArgument, argument.name->range,
             "the arguments of `" + name + "` have no names");
      return std::nullopt;
    }
    values.push_back(evaluate(argument.value, env));
    if (values.back().isPoison())
      return std::nullopt;
  }
  if (values.size() == count)
    return values;
  report(diag::Kind::MissingArgument, range,
         "`" + name + "` takes " + std::to_string(count) +
             (count == 1 ? " argument" : " arguments") + ", and is given " +
             std::to_string(values.size()));
  return std::nullopt;
}

Value Evaluator::callBuiltin(Builtin builtin, const ast::Call& node,
                             SourceRange range, const Env& env) {
  using Which = Builtin::Which;
  std::string name(sources.text((*env.file)[node.callee].range));
  bool isPair = builtin.which == Which::min || builtin.which == Which::max;
  auto values = builtinArguments(node, name, isPair ? 2 : 1, range, env);
  if (!values)
    return poison();
  switch (builtin.which) {
  case Which::min:
  case Which::max:
    return extremeOf(builtin.which, (*values)[0], (*values)[1], range);
  case Which::len:
  case Which::sum:
    return foldOf(builtin.which, (*values)[0], range);
  case Which::floor:
  case Which::ceil:
  case Which::sqrt:
    return roundOrRoot(builtin.which, (*values)[0], name, range);
  }
  return poison();
}

Value Evaluator::extremeOf(Builtin::Which which, const Value& left,
                           const Value& right, SourceRange range) {
  Value isLess = compare(ast::BinaryOp::less, left, right, range);
  if (isLess.isPoison())
    return isLess;
  bool takesLeft = *isLess.get<bool>() == (which == Builtin::Which::min);
  Value result = takesLeft ? left : right;
  result.origin = writtenAt(range);
  return result;
}

Value Evaluator::foldOf(Builtin::Which which, const Value& list,
                        SourceRange range) {
  bool isLength = which == Builtin::Which::len;
  if (const std::string* text = list.get<std::string>(); text && isLength)
    return {int64_t(text->size()), writtenAt(range)};
  std::optional<std::vector<Value>> elements = elementsOf(list, range);
  if (!elements)
    return poison();
  if (isLength)
    return {int64_t(elements->size()), writtenAt(range)};
  Value total{int64_t(0), writtenAt(range)};
  for (size_t i = 0; i < elements->size() && !total.isPoison(); ++i)
    total = i == 0
                ? (*elements)[0]
                : arithmetic(ast::BinaryOp::add, total, (*elements)[i], range);
  return total;
}

Value Evaluator::roundOrRoot(Builtin::Which which, const Value& argument,
                             const std::string& name, SourceRange range) {
  Value number = expect(argument, Type::plain(Type::Kind::real), range,
                        "the argument of `" + name + "`");
  if (number.isPoison())
    return number;
  double value = *number.get<double>();
  if (which == Builtin::Which::sqrt) {
    if (value >= 0)
      return {std::sqrt(value), writtenAt(range)};
    report(diag::Kind::InvalidValue, range,
           "a negative number has no square root");
    return poison();
  }
  double whole =
      which == Builtin::Which::floor ? std::floor(value) : std::ceil(value);
  if (std::abs(whole) < 0x1p63)
    return {int64_t(whole), writtenAt(range)};
  report(diag::Kind::InvalidValue, range,
         "the result does not fit an `int` of 64 bits");
  return poison();
}

} // namespace recipec::sema
