// Where a rank stands in the mesh.
//
// Ranks are numbered row-major over the axes: the first axis varies slowest,
// so that with axes dp=2, tp=4 rank 5 has dp=1, tp=1.

#ifndef RECIPERUN_PLAN_MESH_H
#define RECIPERUN_PLAN_MESH_H

#include "runtime/plan/Plan.h"

#include <string_view>

namespace reciperun::plan {

/// The number of an axis in `mesh.axes`, -1 where the mesh has none so named.
int axisIndex(const Mesh& mesh, std::string_view axis);

/// Whether the axis is that of the name, or one of the group's of that name.
bool spans(const Mesh& mesh, std::string_view name, std::string_view axis);

/// Whether the mesh has an axis or a group of that name.
bool hasExtent(const Mesh& mesh, std::string_view name);

/// The number in `mesh.groups` of the group of that name, -1 where there is
/// none.
int groupIndex(const Mesh& mesh, std::string_view name);

/// The ranks along an axis or in a group; 1 where the mesh has neither of that
/// name (or it is "").
int axisSize(const Mesh& mesh, std::string_view name);

/// The rank's index along an axis, or among the members of its instance of a
/// group, from 0; 0 where the mesh has neither of that name.
int coordinate(const Mesh& mesh, int rank, std::string_view name);

/// The ranks that share `rank`'s coordinates on all axes outside the group, in
/// rising order; `rank` is among them. A group of no axes is the rank alone;
/// one of stages that `rank` is in none of has no member.
std::vector<int> groupMembers(const Mesh& mesh, const Group& group, int rank);

/// The rank of another stage with the same coordinates on all other axes.
int rankInStage(const Mesh& mesh, int rank, int stage);

/// The number of ranks of each instance of a group.
int groupSize(const Mesh& mesh, const Group& group);

/// The product of a shape's dimensions; 1 for a scalar.
int64_t elementCount(const std::vector<int64_t>& shape);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_MESH_H
