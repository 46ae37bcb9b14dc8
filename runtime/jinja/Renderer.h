// Renders a template: executes its statements and evaluates its expressions.
//
//   Renderer.cpp      statements
//   Evaluate.cpp      expressions
//   Operators.cpp     arithmetic, comparison, indices and slices
//   Filters.cpp, ListFilters.cpp, Tests.cpp, Methods.cpp, Functions.cpp
//                     the names that templates can call

#ifndef RECIPERUN_JINJA_RENDERER_H
#define RECIPERUN_JINJA_RENDERER_H

#include "runtime/jinja/Ast.h"
#include "runtime/jinja/Budget.h"
#include "runtime/jinja/Template.h"

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reciperun::jinja {

/// The variables of a template, loop or macro.
struct Scope {
  Scope* outer = nullptr;
  std::map<std::string, Value, std::less<>> names;
  Value changed = None{}; // the last arguments of a loop's `loop.changed`

  const Value* find(std::string_view name) const;
  void set(const std::string& name, Value value);
};

class Renderer {
public:
  Renderer(const RenderLimits& limits, std::time_t now)
      : budget(limits), now(now) {}
  /// Empties the containers that noteChange() has recorded.
  ~Renderer();

  Expected<std::string> render(const ast::Body& body, Dict variables);

  Expected<Value> applyFilter(const std::string& name, const Value& operand,
                              const Arguments& arguments);
  Expected<Value> applyTest(const std::string& name, const Value& operand,
                            const Arguments& arguments);
  /// Fails for values that are not functions.
  Expected<Value> call(const Value& callee, const Arguments& arguments);
  /// A copy of the elements of a list, the keys of a dictionary or the code
  /// points of a string; an undefined value has none.
  Expected<List> elementsOf(const Value& value);
  /// `base.name`: a method first, then the entry of a dictionary.
  Expected<Value> attributeOf(const Value& base, const std::string& name);
  /// `base[index]`: the entry first, then a method.
  Expected<Value> elementAt(const Value& base, const Value& index);
  /// Counts what any filter or method reads at least: its arguments, and the
  /// strings among the operand and the arguments.
  Status readStrings(const Value& operand, const Arguments& arguments);
  /// Records a list or dictionary that the template has changed. It may now
  /// contain itself, and would never be freed.
  void noteChange(const Value& container);
  std::time_t time() const { return now; }

  Budget budget;

private:
  enum class Flow { next, leaveLoop, continueLoop };
  struct StatementRenderer;
  struct Evaluator;

  Expected<Flow> execute(const ast::Body& body, Scope& scope,
                         std::string& output);
  Expected<std::string> textOf(const ast::Body& body, Scope& scope);
  Expected<Flow> loop(const ast::For& node, const Value& elements, Scope& scope,
                      std::string& output, int depth);
  Value macro(const ast::Macro& node, Scope& scope);
  Expected<Value> callMacro(const ast::Macro& node, Scope& scope,
                            const Arguments& arguments);
  Status assign(const std::vector<std::string>& targets, const Value& value,
                Scope& scope);
  Expected<Value> evaluate(const ast::Expr& expr, Scope& scope);
  Expected<Arguments> evaluateAll(const ast::CallArguments& arguments,
                                  Scope& scope);
  Scope& newScope(Scope* outer);

  std::time_t now;
  int depth = 0;            // of calls of macros
  std::deque<Scope> scopes; // macros keep references to them
  std::unordered_map<const void*, Value> changed; // containers, by address
};

/// Adds a line number to the message of a failure, unless it has one.
Status atLine(const Status& failure, int line);

/// The value of a text or list that an operation has made. Counts its bytes.
Expected<Value> made(std::string text, Budget& budget);
Expected<Value> made(List elements, Budget& budget);

// Operators.cpp
Expected<Value> apply(ast::BinaryOp op, const Value& left, const Value& right,
                      Budget& budget);
Expected<Value> negate(const Value& operand);
Expected<bool> holds(ast::CompareOp op, const Value& left, const Value& right,
                     Budget& budget);
/// Bounds that are not given are `none`.
Expected<Value> sliceOf(const Value& base, const Value& first,
                        const Value& last, const Value& step, Budget& budget);

// Methods.cpp
/// A method of a string, list or dictionary that is bound to the value;
/// undefined when there is none of this name.
Value methodOf(Renderer& renderer, const Value& base, std::string_view name);

// Functions.cpp
/// Declares `range`, `namespace`, `raise_exception`, `strftime_now`, ...
void declareFunctions(Renderer& renderer, Scope& scope);

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_RENDERER_H
