// The section `serving` of a plan.

#ifndef RECIPEC_EMIT_SERVING_H
#define RECIPEC_EMIT_SERVING_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

namespace recipec::emit {

/// The limits of a recipe that serves, and the pages of its Program; without
/// buckets.
reciperun::plan::Serving servingSection(const recipe::Recipe& recipe,
                                        const ir::Module& program);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_SERVING_H
