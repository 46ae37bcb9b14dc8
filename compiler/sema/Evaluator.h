// Evaluates expressions; holds the state of one analysis and the classes that
// evaluate the rest:
//
//   Lookup        what names mean, and members of records and files
//   LibraryNames  declarations of the library under other names
//   Elements      `in`, indices and slices
//   Operators     arithmetic, comparison, ranges, mappings of dimensions
//   Calls         functions, and schemas called as functions
//   Layers        the settings in braces and in arguments of a record
//   Objects       records: amending, evaluation of slots, completeness
//   Modules, Types, Recipes: see their headers
// The Tracer handles tensors (Trace.h).

#ifndef RECIPEC_SEMA_EVALUATOR_H
#define RECIPEC_SEMA_EVALUATOR_H

#include "compiler/sema/Messages.h"
#include "compiler/sema/expressions/Calls.h"
#include "compiler/sema/expressions/Elements.h"
#include "compiler/sema/expressions/Operators.h"
#include "compiler/sema/modules/Modules.h"
#include "compiler/sema/names/LibraryNames.h"
#include "compiler/sema/names/Lookup.h"
#include "compiler/sema/names/NearestFields.h"
#include "compiler/sema/recipes/Recipes.h"
#include "compiler/sema/records/Layers.h"
#include "compiler/sema/records/Objects.h"
#include "compiler/sema/types/Types.h"
#include "compiler/sema/values/Limits.h"
#include "compiler/sema/values/Store.h"

#include <optional>
#include <string>
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
  Lookup lookup{*this};
  LibraryNames library{*this};
  NearestFields nearestFields{*this};
  Elements elements{*this};
  Operators operators{*this};
  Calls calls{*this};
  Layers layers{*this};
  Objects objects{*this};
  /// Set while a model is traced.
  Tracer* tracer = nullptr;
  /// The record of the recipe's settings. Remedies are tried on copies of it.
  Object* root = nullptr;
  /// The slot whose value is being converted to its type, for messages.
  std::pair<const Object*, const Slot*> typing = {};
  /// The expression that computed the value being converted, for messages.
  std::pair<ast::ExprId, const Env*> computed = {ast::ExprId::none, nullptr};
  SourceRange recipeRange;
  /// Set when an analysis checks something that cannot be launched, such as an
  /// abstract recipe. A missing value is then no error, and a `require` that
  /// depends on it stays undecided.
  bool isPartial = false;
  /// The number of missing values that were no errors because of `isPartial`.
  int64_t missing = 0;

  bool isLibrary(SourceRange range) const;
  /// Whether a place is in the text of the recipe at hand, behind its name, or
  /// on the command line, and not in the text of a parent.
  bool isOwnPlace(SourceRange range) const;
  bool isData(SourceId source) const {
    return sources.kind(source) == SourceKind::data;
  }
  std::string pathOf(const Object& object, std::string_view name) const;
  recipe::Origin writtenAt(SourceRange range) const;
  /// The place where the model under evaluation creates the parameter of this
  /// name by a call of `parameter`; not valid if it does not. Defined in
  /// Makers.cpp.
  SourceRange parameterMade(std::string_view name) const;

  Value evaluate(ast::ExprId id, const Env& env);
  std::optional<bool> condition(ast::ExprId id, const Env& env,
                                std::string_view what);
  /// The value of a condition that is written at `range`.
  std::optional<bool> condition(const Value& value, SourceRange range,
                                std::string_view what);

  // Loops.cpp
  /// A scope inside `outer` that binds the names in `locals`.
  Env& localScope(const Env& outer, Locals& locals);
  /// Elements of a list or range; nullopt (reported) for any other value.
  std::optional<std::vector<Value>> elementsOf(const Value& value,
                                               SourceRange range);

  // The values below are poison (reported) beyond the limits.
  Value makeList(std::vector<Value> elements, SourceRange range);
  Value makeString(std::string text, SourceRange range);
  /// The value must be finite.
  Value makeReal(double value, SourceRange range);
  /// Rounds bytes, and counts that are almost integers, to 64 bits.
  Value makeQuantity(recipe::Quantity quantity, SourceRange range);

private:
  struct NodeEvaluator; // Expressions.cpp
};

/// The settings that a request asks for, in Analyze.cpp. When the request names
/// a point of the sweep or a layout, applies it and sets `name` to its name.
/// Returns nullptr (reported) when there are no settings.
Object* requestedSettings(Evaluator& evaluator, const Request& request,
                          const ast::RecipeDecl& declaration, Module& module,
                          std::string& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_EVALUATOR_H
