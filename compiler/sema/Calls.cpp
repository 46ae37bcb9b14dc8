// Calls: binding of arguments, functions, schemas as functions, built-ins.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/Trace.h"

#include <algorithm>
#include <cmath>

namespace recipec::sema {
namespace {

std::string plural(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

} // namespace

std::vector<ParameterRef>
Evaluator::parametersOf(const std::vector<ast::Parameter>& parameters,
                        const Env* env) {
  std::vector<ParameterRef> refs;
  refs.reserve(parameters.size());
  for (const ast::Parameter& parameter : parameters)
    refs.push_back({&parameter, env});
  return refs;
}

std::optional<std::vector<BoundArgument>>
Evaluator::bind(const std::vector<ParameterRef>& parameters,
                const ast::Call& node, SourceRange range, const Env& env,
                const std::string& callee, ScopeArguments* scope,
                const Type* untyped) {
  std::vector<BoundArgument> bound(parameters.size());
  bool isGood = true;
  size_t next = 0;
  for (const ast::Argument& argument : node.arguments) {
    SourceRange place = (*env.file)[argument.value].range;
    size_t index = next;
    if (argument.name) {
      auto found = std::find_if(
          parameters.begin(), parameters.end(), [&](const ParameterRef& ref) {
            return ref.declaration->name.text == argument.name->text;
          });
      index = size_t(found - parameters.begin());
    } else {
      ++next;
    }
    BoundArgument* target = index < bound.size() ? &bound[index] : nullptr;
    if (!target && argument.name && scope) {
      std::optional<BoundArgument>* special = nullptr;
      if (argument.name->text == "name")
        special = &scope->name;
      else if (argument.name->text == "hf")
        special = &scope->hf;
      if (special)
        target = &special->emplace();
    }
    if (!target) {
      isGood = false;
      if (!argument.name) {
        report(diag::Kind::UnknownArgument, place,
               "`" + callee + "` takes " +
                   plural(parameters.size(), "argument") + ", not more");
        continue;
      }
      std::vector<std::string> names;
      for (const ParameterRef& ref : parameters)
        names.push_back(ref.declaration->name.text);
      auto builder = report(diag::Kind::UnknownArgument, argument.name->range,
                            "`" + callee + "` has no argument `" +
                                argument.name->text + "`");
      if (auto near = diag::didYouMean(argument.name->text, names))
        builder.help("did you mean `" + *near + "`?")
            .fixIt(argument.name->range, *near);
      continue;
    }
    if (target->value) {
      isGood = false;
      report(diag::Kind::DuplicateName, place,
             "`" + callee + "` is given `" +
                 parameters[index].declaration->name.text + "` twice");
      continue;
    }
    target->range = argument.name ? cover(argument.name->range, place) : place;
    Value value = evaluate(argument.value, env);
    if (index < parameters.size()) {
      const ast::Parameter& parameter = *parameters[index].declaration;
      const Type* type = parameter.type == ast::TypeId::none
                             ? untyped
                             : resolve(*parameters[index].env, parameter.type);
      value = expect(value, *type, place,
                     "`" + parameter.name.text + "` of `" + callee + "`");
    } else {
      Type string;
      string.kind = Type::Kind::string;
      value = expect(value, string, place,
                     "`" + argument.name->text + "` of `" + callee + "`");
    }
    isGood = isGood && !value.isPoison();
    target->value = std::move(value);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const ast::Parameter& parameter = *parameters[i].declaration;
    if (bound[i].value)
      continue;
    if (parameter.defaultValue != ast::ExprId::none) {
      const Env& outside = *parameters[i].env;
      Value value = evaluate(parameter.defaultValue, outside);
      if (parameter.type != ast::TypeId::none)
        value = expect(value, *resolve(outside, parameter.type),
                       (*outside.file)[parameter.defaultValue].range,
                       "`" + parameter.name.text + "`");
      value.origin.kind = recipe::Origin::Kind::defaultValue;
      isGood = isGood && !value.isPoison();
      bound[i] = {std::move(value), range};
      continue;
    }
    isGood = false;
    report(diag::Kind::MissingArgument, range,
           "`" + callee + "` needs `" + parameter.name.text + "`")
        .note("`" + callee + "` is declared with it", parameter.name.range);
  }
  if (!isGood)
    return std::nullopt;
  return bound;
}

Value Evaluator::callFunction(const Function& function, const ast::Call& node,
                              SourceRange range, const Env& env) {
  const ast::FunDecl& declaration = *function.declaration;
  const std::string& name = declaration.name.text;
  if (std::find(callStack.begin(), callStack.end(), &declaration) !=
      callStack.end()) {
    report(diag::Kind::Recursion, range, "`" + name + "` calls itself")
        .note("functions end for certain because none calls itself",
              declaration.name.range);
    return poison();
  }
  Type any;
  any.kind = Type::Kind::any;
  auto arguments = bind(parametersOf(declaration.parameters, function.env),
                        node, range, env, name, nullptr, &any);
  if (!arguments)
    return poison();
  Locals& locals = make<Locals>();
  for (size_t i = 0; i < arguments->size(); ++i)
    locals.names.emplace_back(declaration.parameters[i].name.text,
                              *(*arguments)[i].value);
  Env& inner = make<Env>(*function.env);
  inner.outer = function.env;
  inner.object = nullptr;
  inner.layer = nullptr;
  inner.locals = &locals;
  inner.inBlock = false;
  callStack.push_back(&declaration);
  Value result = evaluate(declaration.value, inner);
  callStack.pop_back();
  result.origin = writtenAt(range);
  if (declaration.result == ast::TypeId::none)
    return result;
  return expect(result, *resolve(*function.env, declaration.result),
                (*function.env->file)[declaration.value].range,
                "the result of `" + name + "`");
}

Value Evaluator::callBuiltin(Builtin builtin, const ast::Call& node,
                             SourceRange range, const Env& env) {
  using Which = Builtin::Which;
  std::string name(sources.text((*env.file)[node.callee].range));
  std::vector<Value> values;
  for (const ast::Argument& argument : node.arguments) {
    if (argument.name) {
      report(diag::Kind::UnknownArgument, argument.name->range,
             "the arguments of `" + name + "` have no names");
      return poison();
    }
    values.push_back(evaluate(argument.value, env));
    if (values.back().isPoison())
      return poison();
  }
  bool isPair = builtin.which == Which::min || builtin.which == Which::max;
  if (values.size() != (isPair ? 2u : 1u)) {
    report(diag::Kind::MissingArgument, range,
           "`" + name + "` takes " + plural(isPair ? 2 : 1, "argument") +
               ", and is given " + std::to_string(values.size()));
    return poison();
  }
  if (isPair) {
    Value less = compare(ast::BinaryOp::less, values[0], values[1], range);
    if (less.isPoison())
      return less;
    bool takesFirst = *less.get<bool>() == (builtin.which == Which::min);
    Value result = takesFirst ? values[0] : values[1];
    result.origin = writtenAt(range);
    return result;
  }
  if (builtin.which == Which::len || builtin.which == Which::sum) {
    const std::string* text = values[0].get<std::string>();
    if (text && builtin.which == Which::len)
      return {int64_t(text->size()), writtenAt(range)};
    std::optional<std::vector<Value>> elements = elementsOf(values[0], range);
    if (!elements)
      return poison();
    if (builtin.which == Which::len)
      return {int64_t(elements->size()), writtenAt(range)};
    Value total{int64_t(0), writtenAt(range)};
    for (size_t i = 0; i < elements->size() && !total.isPoison(); ++i)
      total =
          i == 0 ? (*elements)[0]
                 : arithmetic(ast::BinaryOp::add, total, (*elements)[i], range);
    return total;
  }
  Type real;
  real.kind = Type::Kind::real;
  Value number =
      expect(values[0], real, range, "the argument of `" + name + "`");
  if (number.isPoison())
    return number;
  double value = *number.get<double>();
  if (builtin.which == Which::sqrt) {
    if (value >= 0)
      return {std::sqrt(value), writtenAt(range)};
    report(diag::Kind::InvalidValue, range,
           "a negative number has no square root");
    return poison();
  }
  double whole =
      builtin.which == Which::floor ? std::floor(value) : std::ceil(value);
  if (std::abs(whole) < 0x1p63)
    return {int64_t(whole), writtenAt(range)};
  report(diag::Kind::InvalidValue, range,
         "the result does not fit an `int` of 64 bits");
  return poison();
}

Value Evaluator::call(const ast::Call& node, SourceRange range,
                      const Env& env) {
  const ast::Expr& calleeExpr = (*env.file)[node.callee];
  auto* name = std::get_if<ast::NameRef>(&calleeExpr.node);
  Value callee;
  if (name && env.inBlock) {
    std::optional<Value> found = lookUp(name->name.text, env);
    if (!found) {
      auto builder =
          report(diag::Kind::UnknownName, name->name.range,
                 "there is no op or block `" + name->name.text + "`");
      if (auto near = diag::didYouMean(name->name.text, visibleNames(env)))
        builder.help("did you mean `" + *near + "`?")
            .fixIt(name->name.range, *near);
      return poison();
    }
    callee = *found;
  } else {
    callee = evaluate(node.callee, env);
  }
  if (callee.isPoison())
    return poison();
  if (const Function* const* function = callee.get<const Function*>())
    return callFunction(**function, node, range, env);
  if (const Schema* const* schema = callee.get<const Schema*>())
    return {
        makeObject(*schema, {argumentLayer(env, **schema, node, range)}, range),
        writtenAt(range)};
  if (const Builtin* builtin = callee.get<Builtin>())
    return callBuiltin(*builtin, node, range, env);
  if (const Block* const* block = callee.get<const Block*>()) {
    if (env.inBlock && tracer)
      return tracer->call(**block, node, range, env);
    report(diag::Kind::InvalidValue, range,
           "`" + std::string(sources.text(calleeExpr.range)) +
               "` is called outside of a block")
        .help("ops and blocks are called in the blocks of a model alone");
    return poison();
  }
  report(diag::Kind::WrongType, calleeExpr.range,
         "a value of type `" + typeNameOf(callee) + "` cannot be called");
  return poison();
}

} // namespace recipec::sema
