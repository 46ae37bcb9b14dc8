// Lists every definition of a path in the order in which they apply.

#ifndef RECIPEC_SEMA_RECIPES_HISTORY_H
#define RECIPEC_SEMA_RECIPES_HISTORY_H

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Explain.h"

#include <span>

namespace recipec::sema {

/// The definitions of the field at `names`, a path from `root`, in the schema,
/// parents, mixins, the recipe and overrides. `origin` is that of the final
/// value.
std::vector<Explanation::Definition>
historyOf(Evaluator& evaluator, Object& root,
          std::span<const std::string> names, const recipe::Origin& origin);

/// The declaration that encloses a place: ``recipe `base` ``; may be empty.
std::string ownerOf(const Evaluator& evaluator, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_HISTORY_H
