// Calls of functions, and of schemas as functions. The Tracer calls blocks.

#include "compiler/sema/expressions/Calls.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/expressions/SchemaCalls.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/names/ForeignWords.h"
#include "compiler/sema/names/OpNames.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>

namespace recipec::sema {

Value Calls::callFunction(const Function& function, const ast::Call& node,
                          SourceRange range, const Env& env) {
  const ast::FunDecl& declaration = *function.declaration;
  const std::string& name = declaration.name.text;
  if (std::find(callStack.begin(), callStack.end(), &declaration) !=
      callStack.end()) {
    evaluator.messages
        .report(diag::Kind::Recursion, range, "`" + name + "` calls itself")
        .note("functions end for certain because none calls itself",
              declaration.name.range)
        .help("repeat by a list, `[f(i) for i in 0..n]`, and by functions of "
              "lists such as `sum`");
    return poison();
  }
  Type any = Type::plain(Type::Kind::any);
  auto arguments = bind(parametersOf(declaration.parameters, function.env),
                        node, range, env, name, nullptr, &any);
  if (!arguments)
    return poison();
  if (function.contract && !keepArguments(function, *arguments))
    return poison();
  Locals& locals = evaluator.store.make<Locals>();
  locals.parameters = &declaration.parameters;
  for (size_t i = 0; i < arguments->size(); ++i)
    locals.names.emplace_back(declaration.parameters[i].name.text,
                              *(*arguments)[i].value);
  Env& inner = evaluator.localScope(*function.env, locals);
  inner.inBlock = false;
  callStack.push_back(&declaration);
  Value result = functionResult(declaration, inner);
  callStack.pop_back();
  result.origin = evaluator.writtenAt(range);
  std::string what = "the result of `" + name + "`";
  if (declaration.result != ast::TypeId::none)
    result = typedResult(declaration, inner, result, range, what);
  if (function.contract)
    result =
        expect(evaluator, result, *function.contract->element, range, what);
  return result;
}

/// The expression that is a function's result.
static ast::ExprId resultOf(const ast::FunDecl& declaration,
                            const ast::File& file) {
  if (declaration.body == ast::BodyId::none)
    return declaration.value;
  for (const ast::Item& item : file[declaration.body].items)
    if (auto* result = std::get_if<ast::Return>(&item.node))
      return result->value;
  return ast::ExprId::none;
}

/// Converts a result to the declared type. Reports an error at the user's
/// function and not at the call.
Value Calls::typedResult(const ast::FunDecl& declaration, const Env& env,
                         const Value& result, SourceRange call,
                         const std::string& what) {
  const Type& type = *evaluator.types.resolve(*env.outer, declaration.result);
  if (std::optional<Value> converted = convert(evaluator, result, type))
    return *converted;
  const ast::ExprId computed = resultOf(declaration, *env.file);
  const SourceRange place = (*env.file)[computed].range;
  if (evaluator.isLibrary(place)) {
    reportMismatch(evaluator, result, type, call, what);
    return poison();
  }
  auto outer = std::exchange(evaluator.computed, {computed, &env});
  Value own = result;
  own.origin = evaluator.writtenAt(place);
  const int errors = evaluator.messages.errors();
  reportMismatch(evaluator, own, type, place, what);
  if (evaluator.messages.errors() > errors)
    evaluator.messages.labelLast(call, "called here");
  evaluator.computed = outer;
  return poison();
}

bool Calls::keepArguments(const Function& function,
                          std::vector<BoundArgument>& arguments) {
  const std::vector<const Type*>& types = function.contract->members;
  for (size_t i = 0; i < types.size(); ++i) {
    const ast::Parameter& parameter = function.declaration->parameters[i];
    if (parameter.type != ast::TypeId::none)
      continue; // compared when the function was passed
    arguments[i].value =
        expect(evaluator, *arguments[i].value, *types[i], arguments[i].range,
               "`" + parameter.name.text + "` of `" +
                   function.declaration->name.text + "`");
    if (arguments[i].value->isPoison())
      return false;
  }
  return true;
}

Value Calls::functionResult(const ast::FunDecl& declaration, const Env& env) {
  if (declaration.body == ast::BodyId::none)
    return evaluator.evaluate(declaration.value, env);
  for (const ast::Item& item : (*env.file)[declaration.body].items) {
    if (auto* let = std::get_if<ast::Let>(&item.node)) {
      Value value = evaluator.evaluate(let->value, env);
      if (value.isPoison())
        return value;
      env.locals->names.emplace_back(let->name.text, std::move(value));
    } else if (auto* result = std::get_if<ast::Return>(&item.node)) {
      return evaluator.evaluate(result->value, env);
    }
  }
  return poison(); // the parser has reported the missing `return`
}

/// Reports an op or a block that is called as a member of an unknown name.
bool Calls::reportQualifiedOp(const ast::Expr& callee, const Env& env) {
  const ast::Name* root = env.inBlock ? rootOf(*env.file, callee) : nullptr;
  if (!root || evaluator.lookup.find(root->text, env))
    return false;
  const ast::Name& member = std::get<ast::Member>(callee.node).member;
  reportQualified(evaluator, callee, *root,
                  evaluator.lookup.find(member.text, env).has_value());
  return true;
}

/// The names of blocks and functions, for suggestions.
static std::vector<std::string> callableNames(const Env& env) {
  std::vector<std::string> names;
  for (const Env* at = &env; at; at = at->outer) {
    if (!at->layer)
      continue;
    for (const ast::BlockDecl* block : at->layer->blocks)
      names.push_back(block->name.text);
    for (const ast::FunDecl* function : at->layer->functions)
      names.push_back(function->name.text);
  }
  for (const Module* module = env.module; module; module = module->fallback)
    for (const auto& [name, entry] : module->entries)
      if (std::holds_alternative<ast::FunDecl>(entry.declaration->node) ||
          std::holds_alternative<ast::BlockDecl>(entry.declaration->node))
        names.emplace_back(name);
  return names;
}

Value Calls::evaluate(const ast::Call& node, SourceRange range,
                      const Env& env) {
  const ast::Expr& calleeExpr = (*env.file)[node.callee];
  auto* name = std::get_if<ast::NameRef>(&calleeExpr.node);
  Value callee;
  if (name && env.inBlock) {
    std::optional<Value> found = evaluator.lookup.find(name->name.text, env);
    if (!found) {
      auto builder = evaluator.messages.report(
          diag::Kind::UnknownName, name->name.range,
          "there is no op or block `" + name->name.text + "`");
      if (!helpWithForeignWord(builder, name->name) &&
          !helpWithOp(evaluator, builder, name->name, name->name.range) &&
          !builder.suggest(name->name.range, name->name.text,
                           evaluator.lookup.visibleNames(env)))
        builder.help("`recipec doc std.ops` lists the ops");
      return poison();
    }
    callee = *found;
  } else if (reportQualifiedOp(calleeExpr, env)) {
    return poison();
  } else {
    const bool isSecond =
        env.inBlock && std::holds_alternative<ast::Call>(calleeExpr.node);
    if (isSecond && !node.arguments.empty())
      argumentsBehind = evaluator.sources.text(
          cover((*env.file)[node.arguments.front().value].range,
                (*env.file)[node.arguments.back().value].range));
    callee = evaluator.evaluate(node.callee, env);
    argumentsBehind.clear();
  }
  if (callee.isPoison())
    return poison();
  if (const Function* const* function = callee.get<const Function*>())
    return callFunction(**function, node, range, env);
  if (const Schema* const* schema = callee.get<const Schema*>();
      schema && reportArguments(evaluator, **schema, node, env))
    return poison();
  if (const Schema* const* schema = callee.get<const Schema*>())
    return {evaluator.objects.make(
                *schema,
                {evaluator.layers.ofArguments(env, **schema, node, range)},
                range),
            evaluator.writtenAt(range)};
  if (const Builtin* builtin = callee.get<Builtin>())
    return callBuiltin(*builtin, node, range, env);
  if (const Mixin* const* mixin = callee.get<const Mixin*>())
    return evaluator.recipes.callMixin(**mixin, node, range, env);
  if (const Block* const* block = callee.get<const Block*>()) {
    if (env.inBlock && evaluator.tracer)
      return evaluator.tracer->call(**block, node, range, env);
    evaluator.messages
        .report(diag::Kind::InvalidValue, range,
                "`" + std::string(evaluator.sources.text(calleeExpr.range)) +
                    "` is called outside of a block")
        .help("ops and blocks are called in the blocks of a model alone");
    return poison();
  }
  auto builder = evaluator.messages.report(
      diag::Kind::WrongType, calleeExpr.range,
      "a value of type `" + typeNameOf(callee) + "` cannot be called");
  // `llama.llama3_8b()`, `llama.llama3_8b(layers = 16)`
  if (callee.is<Object*>()) {
    std::string fields;
    for (const ast::Argument& argument : node.arguments)
      fields += (fields.empty() ? "" : ", ") +
                (argument.name ? argument.name->text + " = " : std::string()) +
                std::string(
                    evaluator.sources.text((*env.file)[argument.value].range));
    const bool areNamed =
        std::all_of(node.arguments.begin(), node.arguments.end(),
                    [](const ast::Argument& each) { return each.name; });
    const std::string written(evaluator.sources.text(calleeExpr.range));
    const std::string own =
        node.arguments.empty() ? written : written + " { " + fields + " }";
    if (areNamed && own.find('\n') == own.npos) {
      builder.help("a record is amended by braces: write `" + own + "`")
          .fixIt(range, own, diag::Applicability::safe);
      return poison();
    }
  }
  // `layers(x)`, where the block is called `layer`
  if (name &&
      builder.suggest(name->name.range, name->name.text, callableNames(env)))
    return poison();
  builder.help(
      "functions, mixins, schemas and models are called; write a value "
      "alone "
      "without `(...)`");
  return poison();
}

} // namespace recipec::sema
