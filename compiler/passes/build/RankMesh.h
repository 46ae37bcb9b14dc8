// Builds the mesh of ranks from the degrees of a recipe.

#ifndef RECIPEC_PASSES_BUILD_RANKMESH_H
#define RECIPEC_PASSES_BUILD_RANKMESH_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <map>
#include <string>
#include <vector>

namespace recipec::passes {

struct RankMesh {
  std::vector<ir::Axis> axes; // outermost first
  std::map<std::string, ir::Degree> degrees;
};

/// Returns the axes from the outermost: `pp`, `dp`, `cp`, `tp`. The ranks of a
/// stage are consecutive. A degree is one axis with its name, or several
/// (`dp.0`, `dp.1`) when another degree covers a part of it:
/// - `ep` and `etp` distribute experts over the ranks of a stage from the
///   innermost on; `edp` covers the remaining ranks.
/// - `cp_a2a` has the ranks of `cp` that exchange heads; `cp_ring` has the
///   ranks that pass keys and values around a ring.
/// - `instances` has the replicas of a sharded optimizer.
RankMesh meshOf(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_RANKMESH_H
