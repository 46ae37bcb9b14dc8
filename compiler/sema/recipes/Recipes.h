// Recipes: the records of their settings.
//
// The layers of what a recipe amends, of its mixins, of its own braces and of
// what overrides set, in this order. The last that sets a field wins.

#ifndef RECIPEC_SEMA_RECIPES_RECIPES_H
#define RECIPEC_SEMA_RECIPES_RECIPES_H

#include "compiler/sema/values/Value.h"

#include <vector>

namespace recipec::sema {

class Evaluator;
struct Changes;
struct LibraryMixin;
struct Override;

class Recipes {
public:
  explicit Recipes(Evaluator& evaluator) : evaluator(evaluator) {}

  /// The schema of recipes; none when the library is broken.
  const Schema* schema();
  /// The same without loading it: none before the first recipe is evaluated.
  const Schema* loadedSchema() const { return declaration; }

  /// A recipe as it is declared.
  Value valueOf(Module& module, const ast::RecipeDecl& recipe);
  /// A mixin with its arguments, as `with` takes it.
  Value callMixin(const Mixin& mixin, const ast::Call& node, SourceRange range,
                  const Env& env);

  /// The settings of a recipe under overrides, the last of which wins; none
  /// (reported) where there are none.
  Object* settingsOf(const ast::RecipeDecl& recipe, Module& module,
                     const std::vector<Override>& overrides);
  /// The settings of a mixin by itself; what its parameters without defaults
  /// give is not known.
  Object* settingsOf(const Mixin& mixin);
  Object* withChanges(const Object& settings, Module& module,
                      const Changes& changes);

private:
  const Object* parentOf(Module& module, const ast::RecipeDecl& recipe);
  const Layer* mixinLayer(Module& module, ast::ExprId id);
  const Layer* layerOf(const Mixin& mixin, Locals* arguments);
  const Layer* layerOf(const LibraryMixin& named);
  const Layer* overrideLayer(const Override& override, Module& module);
  Object* withOverrides(const Object& settings, Module& module,
                        const std::vector<Override>& overrides);

  Evaluator& evaluator;
  const Schema* declaration = nullptr;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_RECIPES_H
