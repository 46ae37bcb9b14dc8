// Evaluates expressions, records and files; the state of one analysis.
//
// Split over files by feature:
//   Modules.cpp      files, imports, the names they declare
//   Types.cpp        types as written, conversion of values, mismatches
//   Layers.cpp       what braces and arguments say about a record
//   Objects.cpp      records: amending, evaluation of slots, completeness
//   Expressions.cpp  one function a node of the syntax tree
//   Operators.cpp    arithmetic, comparison, units
//   Calls.cpp        functions, schemas called as functions
//   Bind.cpp         arguments to parameters
//   Builtins.cpp     `min max floor ceil sqrt len sum`
//   Conditions.cpp   `require`, its operands and what would make it hold
//   Lower.cpp        finished values to recipe::Value
// Tensors are the Tracer's (Trace.h).

#ifndef RECIPEC_SEMA_EVALUATOR_H
#define RECIPEC_SEMA_EVALUATOR_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/Loader.h"
#include "compiler/sema/Value.h"

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace recipec::sema {

class Tracer;

/// In the place of a layer's index: the conditions of the record's schema.
inline constexpr size_t checkOwnSchema = size_t(-1);

/// A name, type and default that an argument is bound to.
struct ParameterRef {
  const ast::Parameter* declaration = nullptr;
  const Env* env = nullptr; // of the declaration
};

/// An argument that was bound; without a value where it was not given.
struct BoundArgument {
  std::optional<Value> value;
  SourceRange range;
};

/// The two arguments that every op and block takes beside its own.
struct ScopeArguments {
  std::optional<BoundArgument> name;
  std::optional<BoundArgument> hf;
};

/// A part of a condition whose value explains the result.
struct Operand {
  std::string text; // as written
  Value value;
  Slot* slot = nullptr; // the field behind it, where there is one
  Object* object = nullptr;
};

/// One name of a circle of names.
struct CycleLink {
  std::string name;
  SourceRange range;
};

class Evaluator {
public:
  Evaluator(const SourceMap& sources, Loader& loader, diag::Engine& engine)
      : sources(sources), loader(loader), engine(engine) {}

  const SourceMap& sources;
  /// Set while a model is traced.
  Tracer* tracer = nullptr;
  /// The record of the recipe's settings; helps are tried out on copies of it.
  Object* root = nullptr;
  SourceRange recipeRange;

  // ---- messages (Evaluator.cpp)

  /// Reports once for a kind and range. A place in the standard library is
  /// moved to the user's value that led there.
  diag::Builder report(diag::Kind kind, SourceRange range, std::string message);
  bool isLibrary(SourceRange range) const;
  std::string pathOf(const Object& object, std::string_view name) const;
  /// Each of `links` needs the next, and the last one the first.
  void reportRecursion(const std::vector<CycleLink>& links);

  // ---- files (Modules.cpp)

  /// Loads prelude and ops; false when the library is broken.
  bool loadLibrary();
  Module* addModule(const ast::File& file, std::string path);
  /// Names that an override's expressions see: those of `base`.
  Module* addOverrideModule(const ast::File& file, Module& base);
  Module* loadModule(const std::string& path, Loaded::State& state);
  const Value& entryValue(Module& module, ModuleEntry& entry);
  /// Evaluates what a file declares beside recipes, so that mistakes in what no
  /// recipe uses are found too.
  void checkDeclarations(Module& module);
  Module* ops() { return opsModule; }
  Module* prelude() { return preludeModule; }

  // ---- types (Types.cpp)

  const Type* resolve(const Env& env, ast::TypeId id);
  static std::string nameOf(const Type& type);
  static std::string typeNameOf(const Value& value);
  /// The value as the type has it; none when it does not fit.
  std::optional<Value> convert(const Value& value, const Type& type);
  void reportMismatch(const Value& value, const Type& type, SourceRange range,
                      const std::string& what);
  /// Converts or reports; `what` names the place: `` `parallel.tp` ``.
  Value expect(const Value& value, const Type& type, SourceRange range,
               const std::string& what);
  std::string describe(const Value& value);

  // ---- layers (Layers.cpp)

  const Layer* bodyLayer(const Env& env, ast::BodyId body, bool isScope);
  const Layer* argumentLayer(const Env& env, const Schema& schema,
                             const ast::Call& call, SourceRange range);
  const Layer* tailLayer(const Env& env, const Definition& definition);
  const Layer* givenLayer(std::string_view name, const Value& value);
  void fillLayer(Layer& layer, const ast::Body& body, bool isDeclaration);
  const Schema* makeSchema(Module& module, const ast::Name& name,
                           ast::BodyId body, bool isModel);

  // ---- records (Objects.cpp)

  Object* makeObject(const Schema* schema, std::vector<const Layer*> layers,
                     SourceRange range);
  Object* copyInto(const Object& object, Object& container,
                   std::string_view key);
  Object* amended(const Object& base, const Layer* layer, SourceRange range);
  const Value& force(Object& object, Slot& slot);
  /// Evaluates every field and checks every condition, in order.
  void finish(Object& object);
  void finishValue(const Value& value);
  /// The scope of a layer's expressions.
  const Env* scopeOf(Object& object, const Layer& layer,
                     std::string_view defined = {});
  const Env* schemaScope(Object& object, std::string_view defined = {});
  /// Whether an expression is a constant, so that its value is a plain default.
  static bool isConstant(const ast::File& file, ast::ExprId id);

  // ---- expressions (Expressions.cpp)

  Value evaluate(ast::ExprId id, const Env& env);
  /// The value of a name; none when nothing has that name.
  std::optional<Value> lookUp(std::string_view name, const Env& env);
  /// Slot or let that a name or member expression ends at.
  void findOperand(ast::ExprId id, const Env& env, Operand& operand);
  std::optional<bool> condition(ast::ExprId id, const Env& env,
                                std::string_view what);
  /// Elements of a list or range; none (reported) for anything else.
  std::optional<std::vector<Value>> elementsOf(const Value& value,
                                               SourceRange range);
  Value poison() const { return {}; }
  Value makeList(std::vector<Value> elements, SourceRange range);
  Value memberOf(const Value& base, const ast::Name& member, SourceRange range);
  bool isEqual(const Value& left, const Value& right);

  // ---- operators (Operators.cpp)

  Value binary(const ast::Binary& node, SourceRange range, const Env& env);
  Value arithmetic(ast::BinaryOp op, const Value& left, const Value& right,
                   SourceRange range);
  Value negate(const Value& operand, SourceRange range);

  // ---- calls (Calls.cpp, Bind.cpp)

  Value call(const ast::Call& node, SourceRange range, const Env& env);
  /// Binds a call's arguments to parameters, typed and defaulted. None when
  /// something was reported or an argument is poison. With `scope`, takes the
  /// arguments `name` and `hf` out.
  std::optional<std::vector<BoundArgument>>
  bind(const std::vector<ParameterRef>& parameters, const ast::Call& node,
       SourceRange range, const Env& env, const std::string& callee,
       ScopeArguments* scope, const Type* untyped);
  static std::vector<ParameterRef>
  parametersOf(const std::vector<ast::Parameter>& parameters, const Env* env);

  // ---- conditions (Conditions.cpp)

  void check(Object& object, size_t layerIndex, const ast::Require& require,
             SourceRange range);
  std::vector<Operand> operandsOf(ast::ExprId id, const Env& env);
  /// `` `tp` is 4 ``
  std::string operandText(const Operand& operand);
  void noteOperands(diag::Builder& builder,
                    const std::vector<Operand>& operands, const Slot* except);
  /// The operands that the user set, those to blame first: fields of
  /// `preferred`, then the command line, then what is written last.
  std::vector<const Operand*> suspects(const std::vector<Operand>& operands,
                                       const Object* preferred);

  // ---- results (Lower.cpp)

  /// A dimension becomes its size; the Tracer keeps those of attributes.
  recipe::Value lower(const Value& value);

  // ---- limits

  /// Counts one step of evaluation; false when the recipe asks for too much.
  bool takeStep(SourceRange range);

  template <class T> T& make(T value = {}) {
    auto& pool = std::get<std::deque<T>>(store);
    pool.push_back(std::move(value));
    return pool.back();
  }

  recipe::Origin writtenAt(SourceRange range) const;

private:
  friend class DepthGuard;
  /// A default of a schema under evaluation, for messages about its operands.
  struct Derivation {
    Object* object;
    const Slot* slot;
    ast::ExprId expr;
  };

  // Modules.cpp
  Value importValue(Module& module, const ast::Import& import);
  Value evaluateEntry(Module& module, ModuleEntry& entry);
  Value recipeValue(Module& module, const ast::RecipeDecl& declaration);
  void reportImportNotFound(Module& module, const ast::Import& import,
                            const std::vector<std::string>& tried);
  void reportImportCycle(const ast::Import& import, const Module& target);
  void loadImports(Module& module);

  // Types.cpp
  const Type* resolveNamed(const Env& env, const ast::NamedType& node,
                           SourceRange range);
  std::optional<Value> convertList(const Value& value, const Type& type);
  std::optional<Value> convertMap(const Value& value, const Type& type);
  std::optional<Value> convertRecord(const Value& value, const Type& type);
  bool reportUnitMismatch(const Value& value, const Type& type,
                          SourceRange range, const std::string& what);
  bool reportLiteralMismatch(const Value& value, const Type& type,
                             SourceRange range, const std::string& what);

  // Objects.cpp
  void buildSlots(Object& object);
  void addDefinition(Object& object, const Layer& layer, const Member& member);
  void reportUnknownKey(const Object& object, const Layer& layer,
                        const ast::Name& name);
  Value slotValue(Object& object, Slot& slot);
  Value definedValue(Object& object, Slot& slot);
  Value defaultValue(Object& object, Slot& slot);
  Value amendSlot(Object& object, Slot& slot, const Value& base, size_t first);
  Value typedSlot(Object& object, Slot& slot, Value value, SourceRange range);
  bool dropFixed(Object& object, Slot& slot);
  void reportMissing(Object& object, Slot& slot);
  void reportCycle(Object& object, Slot& slot);
  void finishSlot(Object& object, Slot& slot);

  // Expressions.cpp
  struct NodeEvaluator;
  Value nameValue(const ast::Name& name, const Env& env);
  Value letValue(const ast::Let& let, const Env& env);
  Value indexValue(const Value& base, const Value& index, SourceRange range);
  void reportUnknownName(const ast::Name& name, const Env& env);
  std::vector<std::string> visibleNames(const Env& env);

  // Operators.cpp
  Value compare(ast::BinaryOp op, const Value& left, const Value& right,
                SourceRange range);
  Value contains(const Value& element, const Value& container,
                 SourceRange range);
  Value makeRange(const Value& left, const Value& right, SourceRange range);
  Value makeMapping(const Value& left, const Value& right, SourceRange range);
  bool appendDims(const Value& value, std::vector<DimRef>& dims,
                  SourceRange range);
  Value reportOperands(std::string_view op, const Value& left,
                       const Value& right, SourceRange range);

  // Calls.cpp
  Value callFunction(const Function& function, const ast::Call& node,
                     SourceRange range, const Env& env);

  // Builtins.cpp
  Value callBuiltin(Builtin builtin, const ast::Call& node, SourceRange range,
                    const Env& env);
  std::optional<std::vector<Value>>
  builtinArguments(const ast::Call& node, const std::string& name, size_t count,
                   SourceRange range, const Env& env);
  Value extremeOf(Builtin::Which which, const Value& left, const Value& right,
                  SourceRange range);
  Value foldOf(Builtin::Which which, const Value& list, SourceRange range);
  Value roundOrRoot(Builtin::Which which, const Value& argument,
                    const std::string& name, SourceRange range);

  // Conditions.cpp
  void collectOperands(ast::ExprId id, const Env& env,
                       std::vector<Operand>& operands);
  void reportFailed(Object& object, size_t layerIndex,
                    const ast::Require& require, SourceRange range,
                    const Env& env);
  std::string requireMessage(const ast::Require& require, const Env& env);
  std::optional<std::string> remedy(Object& object, size_t layerIndex,
                                    const ast::Require& require,
                                    const Operand& operand);
  bool holds(const ast::Require& require, const Env& env);
  bool holdsWith(const Object& object, size_t layerIndex,
                 const ast::Require& require, const Operand& operand,
                 int64_t value);

  Loader& loader;
  diag::Engine& engine;

  std::tuple<std::deque<Object>, std::deque<ListValue>, std::deque<Mapping>,
             std::deque<Function>, std::deque<Block>, std::deque<Env>,
             std::deque<Locals>, std::deque<Layer>, std::deque<Schema>,
             std::deque<Type>, std::deque<Module>, std::deque<Value>,
             std::deque<ast::Name>, std::deque<std::vector<ast::Name>>>
      store;
  std::map<std::string, Module*> modules;
  std::vector<Module*> loading; // for cycles
  Module* preludeModule = nullptr;
  Module* opsModule = nullptr;
  std::map<std::pair<const ast::File*, ast::TypeId>, const Type*> types;

  std::vector<std::pair<Object*, Slot*>> running; // slots under evaluation
  std::vector<std::pair<Module*, ModuleEntry*>> runningEntries;
  std::vector<const ast::FunDecl*> callStack;
  std::vector<Derivation> derivations;

  std::set<std::tuple<SourceId, uint32_t, std::string>> reported;
  diag::Diagnostic discarded; // what muted reports write to
  bool isMuted = false;
  bool isExhausted = false;
  int depth = 0;
  int64_t steps = 0;
};

/// Counts a level of evaluation while it lives.
class DepthGuard {
public:
  explicit DepthGuard(Evaluator& evaluator) : evaluator(evaluator) {
    ++evaluator.depth;
  }
  ~DepthGuard() { --evaluator.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

private:
  Evaluator& evaluator;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EVALUATOR_H
