// Expressions: one function per node of the syntax tree.

#include "runtime/jinja/Renderer.h"
#include "runtime/jinja/Strings.h"

namespace reciperun::jinja {

struct Renderer::Evaluator {
  Renderer& renderer;
  Scope& scope;

  Expected<Value> of(const ast::ExprPtr& expr) const {
    return renderer.evaluate(*expr, scope);
  }
  /// The value of an optional expression; `none` when it is absent.
  Expected<Value> orNone(const ast::ExprPtr& expr) const {
    return expr ? of(expr) : Value(None{});
  }

  Expected<Value> operator()(const ast::Literal& node) const {
    return node.value;
  }
  Expected<Value> operator()(const ast::Name& node) const {
    if (const Value* value = scope.find(node.name))
      return *value;
    return Value(Undefined{node.name});
  }
  Expected<Value> operator()(const ast::ListExpr& node) const {
    List list;
    for (const ast::ExprPtr& element : node.elements) {
      Expected<Value> value = of(element);
      RECIPERUN_TRY(value);
      list.push_back(*std::move(value));
    }
    return Value(std::move(list));
  }
  Expected<Value> operator()(const ast::DictExpr& node) const {
    Dict dict;
    for (const auto& [keyExpr, valueExpr] : node.entries) {
      Expected<Value> key = of(keyExpr);
      RECIPERUN_TRY(key);
      if (!key->string())
        return Status::error("a key of a dictionary is of type `" +
                             std::string(key->typeName()) +
                             "`, and only strings can be");
      Expected<Value> value = of(valueExpr);
      RECIPERUN_TRY(value);
      RECIPERUN_TRY(
          dict.set(*key->string(), *std::move(value), renderer.budget));
    }
    return Value(std::move(dict));
  }
  Expected<Value> operator()(const ast::Attribute& node) const {
    Expected<Value> base = of(node.base);
    RECIPERUN_TRY(base);
    return renderer.attributeOf(*base, node.name);
  }
  Expected<Value> operator()(const ast::Index& node) const {
    Expected<Value> base = of(node.base);
    RECIPERUN_TRY(base);
    Expected<Value> index = of(node.index);
    RECIPERUN_TRY(index);
    return renderer.elementAt(*base, *index);
  }
  Expected<Value> operator()(const ast::Slice& node) const {
    Expected<Value> base = of(node.base);
    RECIPERUN_TRY(base);
    Expected<Value> first = orNone(node.first);
    RECIPERUN_TRY(first);
    Expected<Value> last = orNone(node.last);
    RECIPERUN_TRY(last);
    Expected<Value> step = orNone(node.step);
    RECIPERUN_TRY(step);
    return sliceOf(*base, *first, *last, *step, renderer.budget);
  }
  Expected<Value> operator()(const ast::Call& node) const {
    Expected<Value> callee = of(node.callee);
    RECIPERUN_TRY(callee);
    Expected<Arguments> arguments = renderer.evaluateAll(node.arguments, scope);
    RECIPERUN_TRY(arguments);
    return renderer.call(*callee, *arguments);
  }
  Expected<Value> operator()(const ast::Filter& node) const {
    Expected<Value> operand = of(node.operand);
    RECIPERUN_TRY(operand);
    Expected<Arguments> arguments = renderer.evaluateAll(node.arguments, scope);
    RECIPERUN_TRY(arguments);
    return renderer.applyFilter(node.name, *operand, *arguments);
  }
  Expected<Value> operator()(const ast::Test& node) const {
    Expected<Value> operand = of(node.operand);
    RECIPERUN_TRY(operand);
    Expected<Arguments> arguments = renderer.evaluateAll(node.arguments, scope);
    RECIPERUN_TRY(arguments);
    Expected<Value> result =
        renderer.applyTest(node.name, *operand, *arguments);
    RECIPERUN_TRY(result);
    return Value(result->isTrue() != node.isNegated);
  }
  Expected<Value> operator()(const ast::Unary& node) const {
    Expected<Value> operand = of(node.operand);
    RECIPERUN_TRY(operand);
    if (node.op == ast::UnaryOp::no)
      return Value(!operand->isTrue());
    if (node.op == ast::UnaryOp::minus)
      return negate(*operand);
    if (operand->isNumber())
      return operand;
    return Status::error("`+` does not take a value of type `" +
                         std::string(operand->typeName()) + "`");
  }
  Expected<Value> operator()(const ast::Binary& node) const {
    Expected<Value> left = of(node.left);
    RECIPERUN_TRY(left);
    if (node.op == ast::BinaryOp::conjunction)
      return left->isTrue() ? of(node.right) : left;
    if (node.op == ast::BinaryOp::disjunction)
      return left->isTrue() ? left : of(node.right);
    Expected<Value> right = of(node.right);
    RECIPERUN_TRY(right);
    return apply(node.op, *left, *right, renderer.budget);
  }
  Expected<Value> operator()(const ast::Compare& node) const {
    Expected<Value> left = of(node.first);
    RECIPERUN_TRY(left);
    for (const auto& [op, operand] : node.rest) {
      Expected<Value> right = of(operand);
      RECIPERUN_TRY(right);
      Expected<bool> result = holds(op, *left, *right, renderer.budget);
      RECIPERUN_TRY(result);
      if (!*result)
        return Value(false);
      left = std::move(right);
    }
    return Value(true);
  }
  Expected<Value> operator()(const ast::Conditional& node) const {
    Expected<Value> condition = of(node.condition);
    RECIPERUN_TRY(condition);
    if (condition->isTrue())
      return of(node.value);
    return node.otherwise ? of(node.otherwise)
                          : Value(Undefined{"the value without `else`"});
  }
};

Expected<Value> Renderer::evaluate(const ast::Expr& expr, Scope& scope) {
  const Level level(budget);
  RECIPERUN_TRY(atLine(level.takeStep(), expr.line));
  Expected<Value> value = std::visit(Evaluator{*this, scope}, expr.node);
  RECIPERUN_TRY(atLine(value.status(), expr.line));
  return value;
}

Expected<Arguments> Renderer::evaluateAll(const ast::CallArguments& arguments,
                                          Scope& scope) {
  Arguments values;
  for (const ast::ExprPtr& argument : arguments.positional) {
    Expected<Value> value = evaluate(*argument, scope);
    RECIPERUN_TRY(value);
    values.positional.push_back(*std::move(value));
  }
  for (const auto& [name, argument] : arguments.named) {
    Expected<Value> value = evaluate(*argument, scope);
    RECIPERUN_TRY(value);
    values.named.emplace_back(name, *std::move(value));
  }
  return values;
}

Expected<Value> Renderer::call(const Value& callee,
                               const Arguments& arguments) {
  if (callee.isUndefined())
    return Status::error("there is no function `" + callee.undefined()->name +
                         "`");
  const Function* function = callee.function();
  if (!function && callee.dict()) { // the `loop` of a recursive loop
    Expected<const Value*> called = callee.dict()->find("()", budget);
    RECIPERUN_TRY(called);
    function = *called ? (*called)->function() : nullptr;
  }
  if (!function)
    return Status::error("a value of type `" + std::string(callee.typeName()) +
                         "` cannot be called");
  return function->call(arguments);
}

Expected<List> Renderer::elementsOf(const Value& value) {
  if (const List* list = value.list()) {
    RECIPERUN_TRY(budget.takeBytes(list->size() * sizeof(Value)));
    return *list;
  }
  List elements;
  if (const Dict* dict = value.dict()) {
    RECIPERUN_TRY(budget.takeBytes(dict->bytes()));
    for (const auto& [key, element] : dict->entries)
      elements.emplace_back(key);
  } else if (value.string()) {
    for (std::string_view rest = *value.string(); !rest.empty();) {
      const std::string_view point = takePoint(rest);
      RECIPERUN_TRY(budget.takeBytes(sizeof(Value) + point.size()));
      elements.emplace_back(point);
    }
  } else if (!value.isUndefined()) {
    return Status::error("a value of type `" + std::string(value.typeName()) +
                         "` has no elements");
  }
  return elements;
}

Status Renderer::readStrings(const Value& operand, const Arguments& arguments) {
  auto sizeOf = [](const Value& value) {
    return value.string() ? value.string()->size() : 0;
  };
  size_t reads = sizeOf(operand);
  for (const Value& argument : arguments.positional)
    reads += 1 + sizeOf(argument);
  for (const auto& [name, argument] : arguments.named)
    reads += 1 + sizeOf(argument);
  return budget.takeReads(reads);
}

Expected<Value> Renderer::attributeOf(const Value& base,
                                      const std::string& name) {
  if (base.isUndefined())
    return Status::error("`" + base.undefined()->name +
                         "` is not defined, so that it has no `" + name + "`");
  if (!base.dict() || !base.dict()->isNamespace)
    if (Value method = methodOf(*this, base, name); !method.isUndefined())
      return method;
  if (base.dict()) {
    Expected<const Value*> entry = base.dict()->find(name, budget);
    RECIPERUN_TRY(entry);
    if (*entry)
      return **entry;
  }
  return Value(Undefined{name});
}

namespace {

/// An undefined value whose name the template has made.
Expected<Value> undefined(const std::string& name, Budget& budget) {
  RECIPERUN_TRY(budget.takeBytes(name.size()));
  return Value(Undefined{name});
}

/// The element of a list or code point of a string; a negative position counts
/// from the end.
Expected<Value> elementOf(const Value& base, int64_t position, Budget& budget) {
  const List* list = base.list();
  if (!list && !base.string())
    return Status::error("a value of type `" + std::string(base.typeName()) +
                         "` has no elements");
  if (!list)
    RECIPERUN_TRY(budget.takeReads(base.string()->size()));
  const auto count = int64_t(list ? list->size() : countPoints(*base.string()));
  const int64_t at = position < 0 ? position + count : position;
  if (at < 0 || at >= count)
    return Value(Undefined{"element " + std::to_string(position)});
  if (list)
    return (*list)[size_t(at)];
  std::string_view rest = *base.string();
  for (int64_t i = 0; i < at; ++i)
    takePoint(rest);
  return Value(takePoint(rest));
}

} // namespace

Expected<Value> Renderer::elementAt(const Value& base, const Value& index) {
  if (base.isUndefined())
    return Status::error("`" + base.undefined()->name +
                         "` is not defined, so that it has no elements");
  if (index.isInteger() && !base.dict())
    return elementOf(base, index.integer(), budget);
  Expected<Text> key = index.text(budget);
  RECIPERUN_TRY(key);
  if (!index.string())
    return undefined(**key, budget);
  if (base.dict()) {
    Expected<const Value*> entry = base.dict()->find(**key, budget);
    RECIPERUN_TRY(entry);
    if (*entry)
      return **entry;
  }
  Value method = methodOf(*this, base, **key);
  return method.isUndefined() ? undefined(**key, budget) : method;
}

} // namespace reciperun::jinja
