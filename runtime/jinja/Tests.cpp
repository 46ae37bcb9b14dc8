// The tests of templates, `value is name(argument)`.

#include "runtime/jinja/Renderer.h"
#include "runtime/jinja/Strings.h"

namespace reciperun::jinja {
namespace {

using ast::CompareOp;

/// A test without an argument.
struct PlainTest {
  std::string_view name;
  bool (*holds)(const Value& value);
};

constexpr PlainTest plainTests[] = {
    {"boolean", [](const Value& v) { return v.is<bool>(); }},
    {"callable", [](const Value& v) { return v.function() != nullptr; }},
    {"defined", [](const Value& v) { return !v.isUndefined(); }},
    {"undefined", [](const Value& v) { return v.isUndefined(); }},
    {"none", [](const Value& v) { return v.isNone(); }},
    {"true", [](const Value& v) { return v.is<bool>() && v.isTrue(); }},
    {"false", [](const Value& v) { return v.is<bool>() && !v.isTrue(); }},
    {"string", [](const Value& v) { return v.string() != nullptr; }},
    {"mapping", [](const Value& v) { return v.dict() != nullptr; }},
    {"number", [](const Value& v) { return v.isNumber(); }},
    {"integer", [](const Value& v) { return v.is<int64_t>(); }},
    {"float", [](const Value& v) { return v.is<double>(); }},
    {"iterable",
     [](const Value& v) {
       return v.list() || v.dict() || v.string() || v.isUndefined();
     }},
    {"sequence",
     [](const Value& v) {
       return v.list() || v.dict() || v.string() || v.isUndefined();
     }},
    {"odd",
     [](const Value& v) { return v.isInteger() && v.integer() % 2 != 0; }},
    {"even",
     [](const Value& v) { return v.isInteger() && v.integer() % 2 == 0; }},
};

/// A test of the text of a value.
struct TextTest {
  std::string_view name;
  bool (*holds)(const std::string& text);
};

constexpr TextTest textTests[] = {
    {"lower",
     [](const std::string& text) {
       return text == toLower(text) && text != toUpper(text);
     }},
    {"upper",
     [](const std::string& text) {
       return text == toUpper(text) && text != toLower(text);
     }},
};

/// A comparison with the argument.
struct ComparingTest {
  std::string_view name;
  CompareOp op;
};

constexpr ComparingTest comparingTests[] = {
    {"==", CompareOp::equal},
    {"eq", CompareOp::equal},
    {"equalto", CompareOp::equal},
    {"!=", CompareOp::unequal},
    {"ne", CompareOp::unequal},
    {"<", CompareOp::less},
    {"lt", CompareOp::less},
    {"lessthan", CompareOp::less},
    {"<=", CompareOp::lessEqual},
    {"le", CompareOp::lessEqual},
    {">", CompareOp::greater},
    {"gt", CompareOp::greater},
    {"greaterthan", CompareOp::greater},
    {">=", CompareOp::greaterEqual},
    {"ge", CompareOp::greaterEqual},
    {"in", CompareOp::in},
};

/// The same object, or the same value of a type that has no identity here.
Expected<bool> isSame(const Value& left, const Value& right, Budget& budget) {
  if (left.list() || left.dict())
    return left.list() == right.list() && left.dict() == right.dict();
  return left.typeName() == right.typeName() ? isEqual(left, right, budget)
                                             : false;
}

Expected<Value> valueOf(const Expected<bool>& result) {
  RECIPERUN_TRY(result);
  return Value(*result);
}

} // namespace

Expected<Value> Renderer::applyTest(const std::string& name,
                                    const Value& operand,
                                    const Arguments& arguments) {
  for (const PlainTest& test : plainTests)
    if (test.name == name)
      return Value(test.holds(operand));
  for (const TextTest& test : textTests) {
    if (test.name != name)
      continue;
    Expected<Text> text = operand.text(budget);
    RECIPERUN_TRY(text);
    RECIPERUN_TRY(budget.takeBytes(2 * (*text)->size())); // in both cases
    return Value(test.holds(**text));
  }
  const Value* argument = arguments.find(0, "other");
  auto missing = [&] {
    return Status::error("the test `" + name + "` needs an argument");
  };
  for (const ComparingTest& test : comparingTests) {
    if (test.name != name)
      continue;
    if (!argument)
      return missing();
    return valueOf(holds(test.op, operand, *argument, budget));
  }
  if (name == "sameas")
    return argument ? valueOf(isSame(operand, *argument, budget)) : missing();
  if (name == "divisibleby") {
    if (!argument)
      return missing();
    Expected<Value> rest =
        apply(ast::BinaryOp::modulo, operand, *argument, budget);
    RECIPERUN_TRY(rest);
    return Value(!rest->isTrue());
  }
  return Status::error("there is no test `" + name + "`");
}

} // namespace reciperun::jinja
