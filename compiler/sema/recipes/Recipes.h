// Recipes as records of settings.
//
// The layers of a recipe are those of the recipe it amends, its mixins, its own
// braces and the overrides, in this order. The last layer that sets a field
// wins.

#ifndef RECIPEC_SEMA_RECIPES_RECIPES_H
#define RECIPEC_SEMA_RECIPES_RECIPES_H

#include "compiler/sema/values/Value.h"

#include <string>
#include <vector>

namespace recipec::diag {
class Builder;
}

namespace recipec::sema {

class Evaluator;
struct Changes;
struct LibraryMixin;
struct Override;

class Recipes {
public:
  explicit Recipes(Evaluator& evaluator) : evaluator(evaluator) {}

  /// The schema of recipes; nullptr when the library is broken.
  const Schema* schema();
  /// The schema of recipes if it is already loaded; nullptr before the first
  /// recipe is evaluated.
  const Schema* loadedSchema() const { return declaration; }

  /// The value of a recipe as it is declared.
  Value valueOf(Module& module, const ast::RecipeDecl& recipe);
  /// Binds a mixin's arguments, for use after `with`.
  Value callMixin(const Mixin& mixin, const ast::Call& node, SourceRange range,
                  const Env& env);

  /// The settings of a recipe with overrides, of which the last wins; nullptr
  /// (reported) when there are none.
  Object* settingsOf(const ast::RecipeDecl& recipe, Module& module,
                     const std::vector<Override>& overrides);
  /// The settings of a mixin without a recipe. Parameters without defaults have
  /// unknown values.
  Object* settingsOf(const Mixin& mixin);
  Object* withChanges(const Object& settings, Module& module,
                      const Changes& changes);

private:
  std::vector<std::string> recipesIn(const Module& module,
                                     const std::string& path);
  const Object* parentOf(Module& module, const ast::RecipeDecl& recipe);
  /// The recipes that a file declares or imports by name, with a prefix.
  std::vector<std::string> recipesOf(const Module& module,
                                     const std::string& prefix) const;
  void helpWithParents(diag::Builder& builder, const Module& module,
                       const ast::RecipeDecl& recipe, const Value& parent,
                       SourceRange place);
  void reportFileAsMixin(const Module& file, SourceRange range);
  bool reportJoinedMixins(const Module& module, ast::ExprId id);
  void reportRecipeAsMixin(Module& module, const ast::RecipeDecl& recipe,
                           SourceRange range);
  const Layer* mixinLayer(Module& module, const ast::RecipeDecl& recipe,
                          ast::ExprId id);
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
