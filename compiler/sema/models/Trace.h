// Traces the model's blocks once with symbolic tensors: every op call becomes
// one entry of the Dataflow.
//
// 1. Number the model's dimensions and its input.
// 2. Execute `forward` statement by statement: bindings, loops, branches.
// 3. A block call binds its arguments and executes the block; an op call is
//    checked against stdlib/ops.recipe and recorded.
//
// Parameter names are the `name` and `hf` arguments of the enclosing calls,
// joined with dots.

#ifndef RECIPEC_SEMA_MODELS_TRACE_H
#define RECIPEC_SEMA_MODELS_TRACE_H

#include "compiler/sema/Evaluator.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace recipec::sema {

class Tracer {
public:
  Tracer(Evaluator& evaluator, Object& model)
      : evaluator(evaluator), model(model) {}

  /// Returns nullopt when something was reported.
  std::optional<recipe::Dataflow> run();

  /// Evaluates a call of a block or op inside a block.
  Value call(const Block& block, const ast::Call& node, SourceRange range,
             const Env& env);
  /// The operands of an operator as written, for messages.
  struct WrittenSides {
    std::string left, right;
  };
  /// Evaluates `+` and `*` with a tensor operand.
  Value arithmetic(ast::BinaryOp op, const Value& left, const Value& right,
                   SourceRange range, const WrittenSides& written);

  /// Records an error after which tracing continues, to find further errors.
  void breakOff() { isBroken = true; }

  /// Reports the first `[]` of a tensor, and returns poison.
  Value reportIndex(const Tensor& tensor, SourceRange range,
                    const std::string& written);

  /// A tensor's last dimensions, as a mapping writes them: `ffn`,
  /// `[heads, head_dim]`. Empty if the calls that made it do not show them.
  std::string lastDims(recipe::TensorId tensor) const;

  /// The call of the op `parameter` that made the parameter of this name, in
  /// any scope; not valid if there is none.
  SourceRange parameterMade(std::string_view name) const;

private:
  /// The joined names of the enclosing calls.
  struct Scope {
    std::string name;
    std::string hf;
  };

  /// A call of a block under execution, and the number of loops around it.
  struct CallPlace {
    SourceRange range;
    int loops = 0;
  };

  void collectDims();
  std::optional<Value> execute(const ast::Body& body, const Env& env);
  std::optional<Value> executeFor(const ast::For& node, const Env& env);
  std::optional<Value> executeIf(const ast::If& node, const Env& env);
  void assign(const ast::Assignment& node, const Env& env);
  const Env& nested(const Env& env);
  Scope scopeWith(const ScopeArguments& arguments) const;

  Value callBlock(const Block& block, const ast::Call& node, SourceRange range,
                  const Env& env);
  Value callOp(const Block& op, const ast::Call& node, SourceRange range,
               const Env& env);
  Value record(const Block& op, std::vector<BoundArgument> arguments,
               const Scope& scope, bool isNamed, SourceRange range);
  bool checkParameterName(const Block& op, const recipe::Call& call,
                          bool isNamed, SourceRange range);
  const CallPlace* repeatedCall() const;
  /// The op that made a tensor; empty for other values.
  std::string_view makerOf(const Value& value) const;
  recipe::Value lowerAttribute(const Value& value, const Type& type);
  std::optional<recipe::DimId> dimOf(const DimRef& dim, SourceRange range);

  Evaluator& evaluator;
  Object& model;
  recipe::Dataflow dataflow;
  Scope scope;
  std::map<std::string_view, recipe::DimId> dims;
  std::map<std::string, SourceRange> parameterNames;
  std::vector<const ast::BlockDecl*> callStack;
  std::vector<CallPlace> callPlaces;
  int loopDepth = 0;
  int layer = -1;
  int layersDone = 0;
  bool failed = false;
  bool isBroken = false; // has an error that does not end the trace
  std::set<recipe::TensorId> indexed; // tensors with a reported `[]`
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODELS_TRACE_H
