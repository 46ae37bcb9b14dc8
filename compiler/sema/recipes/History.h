// Every definition of a path, in the order in which they apply.

#ifndef RECIPEC_SEMA_RECIPES_HISTORY_H
#define RECIPEC_SEMA_RECIPES_HISTORY_H

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Explain.h"

#include <span>

namespace recipec::sema {

/// What the schema, parents, mixins, the recipe and overrides say about the
/// field at `names`, a path from `root`. `origin` is that of the final value.
std::vector<Explanation::Definition>
historyOf(Evaluator& evaluator, Object& root,
          std::span<const std::string> names, const recipe::Origin& origin);

/// The declaration around a place: ``recipe `base` ``; empty for none.
std::string ownerOf(const Evaluator& evaluator, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_HISTORY_H
