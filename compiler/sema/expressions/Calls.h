// Calls: functions, schemas called as functions, and their arguments.

#ifndef RECIPEC_SEMA_EXPRESSIONS_CALLS_H
#define RECIPEC_SEMA_EXPRESSIONS_CALLS_H

#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::sema {

class Evaluator;

/// A name, type and default that an argument is bound to.
struct ParameterRef {
  const ast::Parameter* declaration = nullptr;
  const Env* env = nullptr; // of the declaration
};

/// A bound argument; has no value when the call did not give it.
struct BoundArgument {
  std::optional<Value> value;
  SourceRange range;
};

/// The two arguments that every op and block takes in addition to its own.
struct ScopeArguments {
  std::optional<BoundArgument> name;
  std::optional<BoundArgument> hf;
};

class Calls {
public:
  explicit Calls(Evaluator& evaluator) : evaluator(evaluator) {}

  Value evaluate(const ast::Call& node, SourceRange range, const Env& env);
  /// Binds a call's arguments to parameters, with types and defaults applied.
  /// Returns nullopt when something was reported or an argument is poison. A
  /// `scope` receives the arguments `name` and `hf`. Defined in Bind.cpp.
  std::optional<std::vector<BoundArgument>>
  bind(const std::vector<ParameterRef>& parameters, const ast::Call& node,
       SourceRange range, const Env& env, const std::string& callee,
       ScopeArguments* scope, const Type* untyped);
  /// Removes and returns the arguments of a second call, as in
  /// `linear(hidden -> ffn)(x)`. The first call uses them when it binds its own
  /// arguments.
  std::string takeArgumentsBehind() {
    return std::exchange(argumentsBehind, {});
  }
  static std::vector<ParameterRef>
  parametersOf(const std::vector<ast::Parameter>& parameters, const Env* env);

private:
  Value callFunction(const Function& function, const ast::Call& node,
                     SourceRange range, const Env& env);
  bool reportQualifiedOp(const ast::Expr& callee, const Env& env);
  bool keepArguments(const Function& function,
                     std::vector<BoundArgument>& arguments);
  Value typedResult(const ast::FunDecl& declaration, const Env& env,
                    const Value& result, SourceRange call,
                    const std::string& what);
  Value functionResult(const ast::FunDecl& declaration, const Env& env);
  /// Defined in Builtins.cpp.
  Value callBuiltin(Builtin builtin, const ast::Call& node, SourceRange range,
                    const Env& env);

  Evaluator& evaluator;
  std::vector<const ast::FunDecl*> callStack;
  std::string argumentsBehind;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EXPRESSIONS_CALLS_H
