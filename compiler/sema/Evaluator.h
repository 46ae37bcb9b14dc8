// Evaluates expressions, records and files; the state of one analysis.
//
// Split over files by feature:
//   Layers.cpp       the settings in braces and arguments of a record
//   AssignedPaths.cpp  fields that one pair of braces sets twice
//   Entries.cpp      entries of maps: `[key] = value`, `for`, `if`, `let`
//   Objects.cpp      records: amending, evaluation of slots, completeness
//   OtherNames.cpp   names that other tools have for a field
//   Expressions.cpp  one function per node of the syntax tree
//   Lookup.cpp       names and members
//   Loops.cpp        iterations of `for`, in comprehensions, maps and blocks
//   Elements.cpp     `in`, indices and slices
//   Operators.cpp    arithmetic and comparison
//   Quantities.cpp   numbers with units
//   Mappings.cpp     mappings of dimensions, `from -> to`
//   Calls.cpp        functions, schemas called as functions
//   Bind.cpp         arguments to parameters
//   Builtins.cpp     the built-in functions
//   LibraryNames.cpp  declarations of the library under other names
// The Tracer handles tensors (Trace.h).

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

/// The name of a recipe's sweep, which is no field of its schema; see Sweep.h.
inline constexpr std::string_view sweepName = "sweep";

/// The name by which a record refers to the record that contains it.
inline constexpr std::string_view outerName = "outer";

/// Bytes of a string that one step of evaluation compares or copies.
inline constexpr size_t bytesOfStep = 64;

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

/// A declaration of the prelude for which other tools have another name.
struct KnownDeclaration {
  std::string name;
  std::string values; // how to write the other tool's values here; may be empty
};

/// A declaration of the standard library by the name that an expression has to
/// use, `llama.llama3_8b`, and the import that this name needs.
struct LibraryName {
  std::string text;
  std::string import;               // empty: the file already has it
  std::optional<diag::FixIt> added; // the edit that adds the import
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
  /// The record of the recipe's settings. Remedies are tried on copies of it.
  Object* root = nullptr;
  /// The slot whose value is being converted to its type, for messages.
  std::pair<const Object*, const Slot*> typing = {};
  SourceRange recipeRange;
  /// Set when an analysis checks something that cannot be launched, such as an
  /// abstract recipe. A missing value is then no error, and a `require` that
  /// depends on it stays undecided.
  bool isPartial = false;
  /// The number of missing values that were no errors because of `isPartial`.
  int64_t missing = 0;

  /// Labels the last `most` values that are under evaluation.
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
  /// Fills in the keys of a map. Its `for`, `if` and `let` are evaluated at
  /// once.
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
  /// The scope of one definition, with the variables of its `for` iteration if
  /// it is in one.
  const Env* scopeOf(Object& object, const Definition& definition,
                     std::string_view defined = {});
  const Env* schemaScope(Object& object, std::string_view defined = {});
  /// Whether an expression is a constant, so that its value is a plain default.
  static bool isConstant(const ast::File& file, ast::ExprId id);

  // ---- expressions (Expressions.cpp, Lookup.cpp, Elements.cpp)

  Value evaluate(ast::ExprId id, const Env& env);
  /// The value of a name, or nullopt when nothing has that name.
  std::optional<Value> lookUp(std::string_view name, const Env& env);
  /// The meaning of a name within braces and parameters. Empty when the name
  /// has to be looked up in the file.
  Binding findBinding(std::string_view name, const Env& env);
  std::optional<bool> condition(ast::ExprId id, const Env& env,
                                std::string_view what);
  /// Elements of a list or range; nullopt (reported) for any other value.
  std::optional<std::vector<Value>> elementsOf(const Value& value,
                                               SourceRange range);
  /// All names that an expression could use, for suggestions.
  std::vector<std::string> visibleNames(const Env& env);
  /// Returns poison (reported) when the list would be too large.
  Value makeList(std::vector<Value> elements, SourceRange range);
  Value makeString(std::string text, SourceRange range);
  /// A scope inside `outer` that binds the names in `locals`.
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
  /// Makes a `float`; returns poison (reported) when the value is not finite.
  Value makeReal(double value, SourceRange range);
  /// Rounds bytes, and counts that are almost integers. Returns poison
  /// (reported) beyond 64 bits.
  Value makeQuantity(recipe::Quantity quantity, SourceRange range);
  /// Whether one value is a quantity and the other is a number or has another
  /// unit.
  static bool mixesUnits(const Value& left, const Value& right);
  Value reportOperands(std::string_view what, const Value& left,
                       const Value& right, SourceRange range);

  // ---- calls (Calls.cpp, Bind.cpp)

  Value call(const ast::Call& node, SourceRange range, const Env& env);
  /// Binds a call's arguments to parameters, with types and defaults applied.
  /// Returns nullopt when something was reported or an argument is poison. A
  /// `scope` receives the arguments `name` and `hf`.
  std::optional<std::vector<BoundArgument>>
  bind(const std::vector<ParameterRef>& parameters, const ast::Call& node,
       SourceRange range, const Env& env, const std::string& callee,
       ScopeArguments* scope, const Type* untyped);
  static std::vector<ParameterRef>
  parametersOf(const std::vector<ast::Parameter>& parameters, const Env* env);

  recipe::Origin writtenAt(SourceRange range) const;
  /// Where the model under evaluation makes the parameter of this name by a
  /// call of `parameter`; not valid when it does not. Defined in Trace.cpp.
  SourceRange parameterMade(std::string_view name) const;

  // LibraryNames.cpp
  /// Finds a declaration of the library by its name or by a similar spelling,
  /// such as `Meta-Llama-3-8B`. `isModel` searches only models.
  std::optional<LibraryName> libraryName(std::string_view name,
                                         const Module& module, bool isModel);
  /// Finds the declaration of the prelude that other tools call `name`.
  std::optional<KnownDeclaration> declarationKnownAs(std::string_view name);
  /// The name that the module's file gives to a file it imports as a whole;
  /// empty when the file does not import it.
  std::string aliasOf(const std::string& import, const Module& module) const;
  /// The names in the prelude whose values are records of the schema: devices.
  std::vector<std::string> namesOf(const Schema& schema);
  std::optional<Suggestion> modelNamed(const Value& value, const Type& type,
                                       SourceRange range);

private:
  // Lookup.cpp
  bool helpWithLiteral(diag::Builder& builder, const ast::Name& name);
  bool helpWithNamedRecord(diag::Builder& builder, const ast::Name& name);
  bool helpWithWord(diag::Builder& builder, const ast::Name& name);
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
  /// Gives each record in a list its container and key, like a record in a
  /// field.
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
  /// Arithmetic with a quantity on one side or both; nullopt when the units
  /// forbid the operation.
  std::optional<Value> quantityArithmetic(ast::BinaryOp op, const Value& left,
                                          const Value& right,
                                          SourceRange range);
  bool areEqual(const Value& left, const Value& right);
  /// Concatenates two strings or two lists; nullopt for other values.
  std::optional<Value> concatenation(const Value& left, const Value& right,
                                     SourceRange range);

  // Mappings.cpp
  Value makeMapping(const ast::Binary& node, const Value& left,
                    const Value& right, SourceRange range, const Env& env);
  /// Appends the dimensions of one side. `id` is its expression, or that of an
  /// element of it.
  bool appendDims(ast::ExprId id, const Value& value, std::vector<DimRef>& dims,
                  const Env& env, bool isInList);

  // Calls.cpp
  Value callFunction(const Function& function, const ast::Call& node,
                     SourceRange range, const Env& env);

  bool reportQualifiedOp(const ast::Expr& callee, const Env& env);
  bool keepArguments(const Function& function,
                     std::vector<BoundArgument>& arguments);
  Value functionResult(const ast::FunDecl& declaration, const Env& env);

  // Builtins.cpp
  Value callBuiltin(Builtin builtin, const ast::Call& node, SourceRange range,
                    const Env& env);

  std::vector<std::pair<Object*, Slot*>> running; // slots under evaluation
  std::vector<const ast::FunDecl*> callStack;
};

/// The settings that a request asks for, in Analyze.cpp. When the request names
/// a point of the sweep, applies the point and sets `name` to its name. Returns
/// nullptr (reported) when there are no settings.
Object* requestedSettings(Evaluator& evaluator, const Request& request,
                          const ast::RecipeDecl& declaration, Module& module,
                          std::string& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EVALUATOR_H
