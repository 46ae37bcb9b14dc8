// The mesh of ranks that the degrees of a recipe make.

#ifndef RECIPEC_PASSES_COMMON_MESH_H
#define RECIPEC_PASSES_COMMON_MESH_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <map>
#include <string>
#include <vector>

namespace recipec::passes {

struct Mesh {
  std::vector<ir::Axis> axes; // from the outermost
  std::map<std::string, ir::Degree> degrees;
};

/// Axes from the outermost: `pp`, `dp`, `cp`, `tp`, the ranks of a stage side
/// by side. A degree is one axis of its name, or several (`dp.0`, `dp.1`) where
/// another degree covers a part of it: `ep` and `etp`, which lay experts over
/// the ranks of a stage from the innermost on (`edp` is what they leave);
/// `cp_a2a`, the ranks of `cp` that exchange heads, of which `cp_ring` passes
/// keys and values round; `instances`, the replicas of a sharded optimizer.
Mesh meshOf(const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_COMMON_MESH_H
