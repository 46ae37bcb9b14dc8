// Calls: of functions, of schemas as functions, and of blocks by the Tracer.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/Trace.h"

#include <algorithm>

namespace recipec::sema {
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
  Type any = Type::plain(Type::Kind::any);
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
  return expect(result, *resolve(*function.env, declaration.result), range,
                "the result of `" + name + "`");
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
      builder.suggest(name->name.range, name->name.text, visibleNames(env));
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
