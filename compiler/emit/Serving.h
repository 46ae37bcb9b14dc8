// The section `serving` of a plan.

#ifndef RECIPEC_EMIT_SERVING_H
#define RECIPEC_EMIT_SERVING_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace recipec::emit {

/// The limits of a recipe that serves, and the pages of its stages' Programs.
/// The buckets are added later.
reciperun::plan::Serving servingSection(const recipe::Recipe& recipe,
                                        const std::vector<ir::Module>& stages);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_SERVING_H
