// Expressions: one function per node of the syntax tree.

#include "compiler/recipe/Units.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/expressions/OperandHelp.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/names/ShellVariables.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Mismatch.h"
#include "compiler/sema/types/TypeHelp.h"
#include "compiler/sema/values/Loops.h"

#include <cmath>

namespace recipec::sema {

// ---- nodes

struct Evaluator::NodeEvaluator {
  Evaluator& self;
  const Env& env;
  SourceRange range;

  recipe::Origin origin() const { return self.writtenAt(range); }
  Value evaluate(ast::ExprId id) const { return self.evaluate(id, env); }

  Value operator()(const ast::KeywordLiteral& node) const {
    using Which = ast::KeywordLiteral::Which;
    switch (node.which) {
    case Which::none:
      return {recipe::None{}, origin()};
    case Which::automatic:
      return {recipe::Auto{}, origin()};
    case Which::trueValue:
      return {true, origin()};
    case Which::falseValue:
      return {false, origin()};
    }
    return poison();
  }
  Value operator()(const ast::IntLiteral& node) const {
    return {node.value, origin()};
  }
  Value operator()(const ast::FloatLiteral& node) const {
    return {node.value, origin()};
  }
  Value operator()(const ast::QuantityLiteral& node) const {
    const recipe::UnitName* unit = recipe::findUnit(node.unit.text);
    if (unit)
      return self.makeQuantity({node.value * unit->scale, unit->unit, unit},
                               range);
    std::vector<std::string> names;
    for (const recipe::UnitName& each : recipe::unitNames())
      names.emplace_back(each.name);
    auto builder =
        self.messages.report(diag::Kind::UnknownUnit, node.unit.range,
                             "there is no unit `" + node.unit.text + "`");
    builder.suggestOrList(node.unit.range, node.unit.text, names,
                          "the units are ");
    return poison();
  }
  Value operator()(const ast::StringLiteral& node) const {
    std::string text = node.texts.front();
    for (size_t i = 0; i < node.holes.size(); ++i) {
      Value value = evaluate(node.holes[i]);
      if (value.isPoison())
        return poison();
      const std::string* string = value.get<std::string>();
      text += string ? *string : describe(self, value);
      text += node.texts[i + 1];
      if (!self.limits.fitsString(text.size(), range))
        return poison();
    }
    if (text.find('$') != text.npos)
      warnOfDollar(self, *env.file, node, range);
    if (text.starts_with('~'))
      warnOfHome(self, text, range);
    return {std::move(text), origin()};
  }
  Value operator()(const ast::NameRef& node) const {
    return self.lookup.valueOf(node.name, env);
  }
  Value operator()(const ast::Member& node) const {
    return self.lookup.memberOf(evaluate(node.base), node.member, range);
  }
  Value operator()(const ast::Index& node) const {
    Value base = evaluate(node.base);
    Value index = evaluate(node.index);
    if (base.isPoison() || index.isPoison())
      return poison();
    return self.elements.at(base, index, range, (*env.file)[node.index].range);
  }
  Value operator()(const ast::Call& node) const {
    return self.calls.evaluate(node, range, env);
  }
  Value operator()(const ast::Amend& node) const {
    Value base = evaluate(node.base);
    if (base.isPoison())
      return base;
    const Schema* const* schema = base.get<const Schema*>();
    Object* const* object = base.get<Object*>();
    if (!schema && !object) {
      SourceRange place = (*env.file)[node.base].range;
      auto builder =
          self.messages.report(diag::Kind::WrongType, place,
                               "braces amend a record, and this is of type `" +
                                   typeNameOf(base) + "`");
      if (base.is<Module*>())
        helpWithImport(self, builder, base, place);
      else
        builder.help(instead(base, place));
      return poison();
    }
    bool isScope = schema || (*object)->schema;
    const Layer* layer = self.layers.ofBody(env, node.body, isScope);
    if (layer->isBroken)
      return poison();
    return {schema ? self.objects.make(*schema, {layer}, range)
                   : self.objects.amended(**object, layer, range),
            origin()};
  }
  /// The help for braces after a value that is not a record.
  std::string instead(const Value& base, SourceRange place) const {
    const std::string written(self.sources.text(place));
    if (base.is<const Mixin*>())
      return "the arguments of a mixin stand in parentheses, and a recipe "
             "names "
             "it behind `with`: write `with " +
             written + "(...)`";
    if (base.is<const Function*>() || base.is<Builtin>() ||
        base.is<const Block*>())
      return "arguments stand in parentheses: write `" + written + "(...)`";
    return "leave the braces out, or name a record before them";
  }
  Value operator()(const ast::ListExpr& node) const {
    std::vector<Value> elements;
    elements.reserve(node.elements.size());
    for (ast::ExprId element : node.elements) {
      Value value = evaluate(element);
      if (value.isPoison())
        return value;
      // Errors refer to the place where an element is written, not to its
      // origin. Elements of a data file are written in that file.
      SourceRange from = value.origin.range;
      if (!from.isValid() || !self.isData(from.source))
        value.origin = self.writtenAt((*env.file)[element].range);
      elements.push_back(std::move(value));
    }
    return self.makeList(std::move(elements), range);
  }
  Value operator()(const ast::Comprehension& node) const {
    std::vector<Value> elements;
    bool isWhole = collect(node, 0, env, elements);
    return isWhole ? self.makeList(std::move(elements), range) : poison();
  }
  /// Runs the iterations of the clauses from `index` on. Returns false when a
  /// value is poison.
  bool collect(const ast::Comprehension& node, size_t index, const Env& around,
               std::vector<Value>& elements) const {
    if (index == node.clauses.size()) {
      elements.push_back(self.evaluate(node.element, around));
      return !elements.back().isPoison() &&
             self.limits.fitsElements(elements.size(), range);
    }
    const ast::Clause& clause = node.clauses[index];
    std::optional<Turns> turns =
        Turns::of(self, clause.variables, clause.source, around);
    if (!turns)
      return false;
    for (int64_t turn = 0; turn < turns->count(); ++turn) {
      const Env* inner = turns->scope(turn);
      if (!inner)
        return false;
      std::optional<bool> keep = true;
      if (clause.condition != ast::ExprId::none)
        keep = self.condition(clause.condition, *inner,
                              "the condition of a comprehension");
      if (!keep || (*keep && !collect(node, index + 1, *inner, elements)))
        return false;
    }
    return true;
  }
  Value operator()(const ast::Unary& node) const {
    if (node.op == ast::UnaryOp::logicalNot) {
      std::optional<bool> value =
          self.condition(node.operand, env, "the operand of `not`");
      return value ? Value{!*value, origin()} : poison();
    }
    return self.operators.negate(evaluate(node.operand), range);
  }
  Value operator()(const ast::Binary& node) const {
    return self.operators.binary(node, range, env);
  }
  Value operator()(const ast::TypeTest& node) const {
    Value value = evaluate(node.operand);
    if (value.isPoison())
      return value;
    const Type& type = *self.types.resolve(env, node.type);
    return {fits(self, value, type), origin()};
  }
  Value operator()(const ast::Conditional& node) const {
    std::optional<bool> value =
        self.condition(node.condition, env, "the condition of `if`");
    if (!value)
      return poison();
    return evaluate(*value ? node.thenValue : node.elseValue);
  }
  Value operator()(const ast::RecordExpr& node) const {
    // Like a map: values do not see the keys.
    const Layer* layer = self.layers.ofBody(env, node.body, false);
    if (layer->isBroken)
      return poison();
    return {self.objects.make(nullptr, {layer}, range), origin()};
  }
};

Value Evaluator::evaluate(ast::ExprId id, const Env& env) {
  const ast::Expr& expr = (*env.file)[id];
  Limits::Level level(limits);
  if (!limits.takeStep(expr.range))
    return poison();
  Value value = std::visit(NodeEvaluator{*this, env, expr.range}, expr.node);
  // Count a string's bytes, because copying the value copies them.
  if (const std::string* text = value.get<std::string>();
      text && (!limits.fitsString(text->size(), expr.range) ||
               !limits.takeBytes(text->size(), expr.range)))
    return poison();
  return value;
}

/// The comparison that makes a condition of another value.
static std::string comparisonFor(const Value& value, std::string_view written) {
  if (value.is<Tensor>())
    return std::string(noTensorCondition);
  const std::string own(written.find('\n') == written.npos ? written : "x");
  const bool isAmount = value.isNumber();
  const bool isText = value.is<std::string>();
  const bool isList = value.is<const ListValue*>() || value.is<Range>();
  const bool isUnset = value.is<recipe::None>() || value.is<recipe::Auto>();
  if (!isAmount && !isText && !isList && !isUnset)
    return "a condition compares values, as in `x > 0`; `and`, `or` and `not` "
           "join conditions";
  return "compare it: write `" +
         (isAmount                   ? own + " > 0"
          : isText                   ? own + " != \"\""
          : isList                   ? "len(" + own + ") > 0"
          : value.is<recipe::None>() ? "x != none"
                                     : "x != auto") +
         "`, say; `and`, `or` and `not` join conditions";
}

std::optional<bool> Evaluator::condition(ast::ExprId id, const Env& env,
                                         std::string_view what) {
  return condition(evaluate(id, env), (*env.file)[id].range, what);
}

std::optional<bool> Evaluator::condition(const Value& value, SourceRange range,
                                         std::string_view what) {
  if (value.isPoison())
    return std::nullopt;
  if (const bool* result = value.get<bool>())
    return *result;
  messages
      .report(diag::Kind::WrongType, range,
              std::string(what) + " is of type `bool`, and this is of type `" +
                  typeNameOf(value) + "`")
      .help(comparisonFor(value, sources.text(range)));
  return std::nullopt;
}

} // namespace recipec::sema
