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
      dict.set(*key->string(), *std::move(value));
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
    return sliceOf(*base, *first, *last, *step);
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
    return apply(renderer, node.op, *left, *right);
  }
  Expected<Value> operator()(const ast::Compare& node) const {
    Expected<Value> left = of(node.first);
    RECIPERUN_TRY(left);
    for (const auto& [op, operand] : node.rest) {
      Expected<Value> right = of(operand);
      RECIPERUN_TRY(right);
      Expected<bool> result = holds(op, *left, *right);
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
  RECIPERUN_TRY(atLine(takeStep(), expr.line));
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
    return Status::error("there is no function `" +
                         std::get<Undefined>(callee.content()).name + "`");
  const Function* function = callee.function();
  if (!function && callee.dict()) // the `loop` of a recursive loop
    if (const Value* called = callee.dict()->find("()"))
      function = called->function();
  if (!function)
    return Status::error("a value of type `" + std::string(callee.typeName()) +
                         "` cannot be called");
  return function->call(arguments);
}

Expected<List> Renderer::elementsOf(const Value& value) {
  if (value.list())
    return *value.list();
  List elements;
  if (value.dict())
    for (const auto& [key, element] : value.dict()->entries)
      elements.emplace_back(key);
  else if (value.string())
    for (const std::string_view point : codePoints(*value.string()))
      elements.emplace_back(point);
  else if (!value.isUndefined())
    return Status::error("a value of type `" + std::string(value.typeName()) +
                         "` has no elements");
  return elements;
}

Expected<Value> Renderer::attributeOf(const Value& base,
                                      const std::string& name) {
  if (base.isUndefined())
    return Status::error("`" + std::get<Undefined>(base.content()).name +
                         "` is not defined, so that it has no `" + name + "`");
  if (!base.dict() || !base.dict()->isNamespace)
    if (Value method = methodOf(*this, base, name); !method.isUndefined())
      return method;
  if (base.dict())
    if (const Value* entry = base.dict()->find(name))
      return *entry;
  return Value(Undefined{name});
}

Expected<Value> Renderer::elementAt(const Value& base, const Value& index) {
  if (base.isUndefined())
    return Status::error("`" + std::get<Undefined>(base.content()).name +
                         "` is not defined, so that it has no elements");
  if (const std::string* key = index.string()) {
    if (base.dict())
      if (const Value* entry = base.dict()->find(*key))
        return *entry;
    Value method = methodOf(*this, base, *key);
    return method.isUndefined() ? Value(Undefined{*key}) : method;
  }
  if (!index.isInteger() || base.dict())
    return Value(Undefined{index.text()});
  Expected<List> elements = elementsOf(base);
  RECIPERUN_TRY(elements);
  const int64_t count = int64_t(elements->size());
  const int64_t at =
      index.integer() < 0 ? index.integer() + count : index.integer();
  if (at < 0 || at >= count)
    return Value(Undefined{"element " + index.text()});
  return (*elements)[size_t(at)];
}

} // namespace reciperun::jinja
