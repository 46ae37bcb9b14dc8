// Evaluates expressions, records and files; the state of one analysis.
//
// Split over files by feature:
//   Layers.cpp       what braces and arguments say about a record
//   AssignedPaths.cpp  which of it is said twice
//   Entries.cpp      the same for maps: `[key] = value`, `for`, `if`, `let`
//   Objects.cpp      records: amending, evaluation of slots, completeness
//   OtherNames.cpp   what other tools call a field
//   Expressions.cpp  one function a node of the syntax tree
//   Lookup.cpp       names and members
//   Loops.cpp        the turns of `for`, in comprehensions, maps and blocks
//   Elements.cpp     `in`, indices and slices
//   Operators.cpp    arithmetic and comparison
//   Quantities.cpp   numbers with units
//   Calls.cpp        functions, schemas called as functions
//   Bind.cpp         arguments to parameters
//   Builtins.cpp     the functions that the language has by itself
//   LibraryNames.cpp  what the library declares under another name
// Tensors are the Tracer's (Trace.h).

#ifndef RECIPEC_SEMA_EVALUATOR_H
#define RECIPEC_SEMA_EVALUATOR_H

#include "compiler/sema/Messages.h"
#include "compiler/sema/modules/Modules.h"
#include "compiler/sema/recipes/Recipes.h"
#include "compiler/sema/types/Types.h"
#include "compiler/sema/values/Limits.h"
#include "compiler/sema/values/Store.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace recipec::sema {

class Tracer;
struct Request;

/// What a recipe holds beside the fields of its schema; see Sweep.h.
inline constexpr std::string_view sweepName = "sweep";

/// What a record calls the one that holds it.
inline constexpr std::string_view outerName = "outer";

/// Bytes of strings that are compared or copied in one step of evaluation.
inline constexpr size_t bytesOfStep = 64;

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

/// A declaration of the standard library by the name that an expression has to
/// use, `llama.llama3_8b`, and the import that makes it one.
struct KnownDeclaration {
  std::string name;
  std::string values; // what is to be said of it; may be empty
};

struct LibraryName {
  std::string text;
  std::string import;               // empty: the file has it
  std::optional<diag::FixIt> added; // of the import
};

struct Suggestion;

class Evaluator {
public:
  Evaluator(const SourceMap& sources, Loader& loader, diag::Engine& engine)
      : sources(sources), loader(loader), messages(*this, engine),
        modules(*this, loader) {}
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const SourceMap& sources;
  Loader& loader;
  Messages messages;
  Store store;
  Limits limits{*this};
  Modules modules;
  Types types{*this};
  Recipes recipes{*this};
  /// Set while a model is traced.
  Tracer* tracer = nullptr;
  /// The record of the recipe's settings; helps are tried out on copies of it.
  Object* root = nullptr;
  /// The slot whose value is brought to its type, for messages.
  std::pair<const Object*, const Slot*> typing = {};
  SourceRange recipeRange;
  /// Set for what is not launched as it stands, an abstract recipe say: what
  /// is missing is no mistake, and a `require` over it is not decided.
  bool isPartial = false;
  /// Values that were missing where that is no mistake.
  int64_t missing = 0;

  /// Labels the last values, up to `most`, that are under evaluation.
  void labelChain(diag::Builder& builder, size_t most) const;
  bool isLibrary(SourceRange range) const;
  bool isData(SourceId source) const {
    return sources.kind(source) == SourceKind::data;
  }
  std::string pathOf(const Object& object, std::string_view name) const;

  // ---- layers (Layers.cpp)

  const Layer* bodyLayer(const Env& env, ast::BodyId body, bool isScope);
  const Layer* argumentLayer(const Env& env, const Schema& schema,
                             const ast::Call& call, SourceRange range);
  const Layer* tailLayer(const Env& env, const Definition& definition);
  const Layer* givenLayer(std::string_view name, const Value& value);
  void fillLayer(Layer& layer, const ast::Body& body, bool isDeclaration);
  /// The keys of a map, whose `for`, `if` and `let` are evaluated at once.
  void fillMap(Layer& layer, const ast::Body& body, const Env& env);
  const Schema* makeSchema(Module& module, const ast::Name& name,
                           ast::BodyId body, bool isModel);

  // ---- records (Objects.cpp)

  Object* makeObject(const Schema* schema, std::vector<const Layer*> layers,
                     SourceRange range);
  Object* copyInto(const Object& object, Object& container,
                   std::string_view key);
  Object* amended(const Object& base, const Layer* layer, SourceRange range);
  const Value& force(Object& object, Slot& slot);
  /// The type of a field, or of the values of a map; null in other records.
  const Type* typeOf(const Object& object, const Slot& slot);
  /// Evaluates every field and checks every condition, in order.
  void finish(Object& object);
  void finishValue(const Value& value);
  /// The scope of a layer's expressions.
  const Env* scopeOf(Object& object, const Layer& layer,
                     std::string_view defined = {});
  /// The scope of one definition, whether or not in a turn of `for`.
  const Env* scopeOf(Object& object, const Definition& definition,
                     std::string_view defined = {});
  const Env* schemaScope(Object& object, std::string_view defined = {});
  /// Whether an expression is a constant, so that its value is a plain default.
  static bool isConstant(const ast::File& file, ast::ExprId id);

  // ---- expressions (Expressions.cpp, Lookup.cpp, Elements.cpp)

  Value evaluate(ast::ExprId id, const Env& env);
  /// The value of a name; none when nothing has that name.
  std::optional<Value> lookUp(std::string_view name, const Env& env);
  /// What a name means within braces and parameters; empty where that is for
  /// the file to say.
  Binding findBinding(std::string_view name, const Env& env);
  std::optional<bool> condition(ast::ExprId id, const Env& env,
                                std::string_view what);
  /// Elements of a list or range; none (reported) for anything else.
  std::optional<std::vector<Value>> elementsOf(const Value& value,
                                               SourceRange range);
  /// All names that an expression could use, for suggestions.
  std::vector<std::string> visibleNames(const Env& env);
  /// Poison (reported) where the value would be too large.
  Value makeList(std::vector<Value> elements, SourceRange range);
  Value makeString(std::string text, SourceRange range);
  /// A scope within `outer` that `locals` gives names to.
  Env& localScope(const Env& outer, Locals& locals);
  Value memberOf(const Value& base, const ast::Name& member, SourceRange range);
  bool isEqual(const Value& left, const Value& right);

  // ---- operators (Operators.cpp)

  Value binary(const ast::Binary& node, SourceRange range, const Env& env);
  Value arithmetic(ast::BinaryOp op, const Value& left, const Value& right,
                   SourceRange range);
  Value negate(const Value& operand, SourceRange range);
  Value compare(ast::BinaryOp op, const Value& left, const Value& right,
                SourceRange range);
  /// A `float`; poison (reported) for what is no finite number.
  Value makeReal(double value, SourceRange range);
  /// Rounded where the unit counts; poison (reported) beyond 64 bits.
  Value makeQuantity(recipe::Quantity quantity, SourceRange range);
  /// Whether one is a quantity, and the other a number or of another unit.
  static bool mixesUnits(const Value& left, const Value& right);
  Value reportOperands(std::string_view what, const Value& left,
                       const Value& right, SourceRange range);

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

  recipe::Origin writtenAt(SourceRange range) const;

  // LibraryNames.cpp
  /// What the library declares under a name, or under one that is spelt alike:
  /// `Meta-Llama-3-8B`. `isModel`: models alone.
  std::optional<LibraryName> libraryName(std::string_view name,
                                         const Module& module, bool isModel);
  /// What the library declares that other tools call so.
  std::optional<KnownDeclaration> declarationKnownAs(std::string_view name);
  /// What the file of a module calls a file that it imports as a whole; empty
  /// where it does not.
  std::string aliasOf(const std::string& import, const Module& module) const;
  /// The values of a schema that every recipe knows: devices.
  std::vector<std::string> namesOf(const Schema& schema);
  std::optional<Suggestion> modelNamed(const Value& value, const Type& type,
                                       SourceRange range);

private:
  // Lookup.cpp
  bool helpWithLiteral(diag::Builder& builder, const ast::Name& name);
  bool helpWithHole(diag::Builder& builder, const ast::Name& name);
  bool helpWithSection(diag::Builder& builder, const ast::Name& name,
                       const Env& env);
  bool helpWithLibrary(diag::Builder& builder, const ast::Name& name,
                       const Env& env);

  // Objects.cpp
  void buildSlots(Object& object);
  void addDefinition(Object& object, const Layer& layer, const Member& member);
  Value slotValue(Object& object, Slot& slot);
  Value definedValue(Object& object, Slot& slot);
  Value defaultValue(Object& object, Slot& slot);
  bool addLayers(Object& object, const Slot& slot, size_t first, bool hasSchema,
                 std::vector<const Layer*>& layers);
  void reportNoFields(Object& object, const Slot& slot, const Value& base,
                      size_t first);
  Value amendSlot(Object& object, Slot& slot, const Value& base, size_t first);
  /// Records in a list know where they are, as those in fields do.
  Value adoptElements(Object& object, const Slot& slot, const Value& list);
  Value typedSlot(Object& object, Slot& slot, Value value, SourceRange range);
  void reportMissing(Object& object, Slot& slot);
  void reportCycle(Object& object, Slot& slot);

  // Expressions.cpp
  struct NodeEvaluator;
  Value nameValue(const ast::Name& name, const Env& env);
  Value letValue(const ast::Let& let, const Env& env);
  Value indexValue(const Value& base, const Value& index, SourceRange range,
                   SourceRange indexRange);
  Value elementAt(const Value& base, int64_t position, SourceRange range,
                  SourceRange indexRange);
  Value sliceOf(const Value& base, Range bounds, SourceRange range,
                SourceRange indexRange);
  void reportUnknownMember(const Value& base, const std::string& member,
                           SourceRange range, bool isIndex);
  void reportUnknownName(const ast::Name& name, const Env& env);

  // Operators.cpp
  Value contains(const Value& element, const Value& container,
                 SourceRange range);
  Value makeRange(const Value& left, const Value& right, SourceRange range);
  Value makeMapping(const Value& left, const Value& right, SourceRange range);
  bool appendDims(const Value& value, std::vector<DimRef>& dims,
                  SourceRange range);
  /// Arithmetic with a quantity on one side or both; none where units forbid
  /// the operation.
  std::optional<Value> quantityArithmetic(ast::BinaryOp op, const Value& left,
                                          const Value& right,
                                          SourceRange range);
  bool areEqual(const Value& left, const Value& right);
  /// Of two strings or two lists; none of anything else.
  std::optional<Value> concatenation(const Value& left, const Value& right,
                                     SourceRange range);

  // Calls.cpp
  Value callFunction(const Function& function, const ast::Call& node,
                     SourceRange range, const Env& env);

  bool keepArguments(const Function& function,
                     std::vector<BoundArgument>& arguments);
  Value functionResult(const ast::FunDecl& declaration, const Env& env);

  // Builtins.cpp
  Value callBuiltin(Builtin builtin, const ast::Call& node, SourceRange range,
                    const Env& env);

  std::vector<std::pair<Object*, Slot*>> running; // slots under evaluation
  std::vector<const ast::FunDecl*> callStack;
};

/// The settings that a request asks for, of a point of the recipe's sweep where
/// it names one: then `name` becomes that of the point. None (reported) where
/// there are none. In Analyze.cpp.
Object* requestedSettings(Evaluator& evaluator, const Request& request,
                          const ast::RecipeDecl& declaration, Module& module,
                          std::string& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EVALUATOR_H
