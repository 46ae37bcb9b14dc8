// The mesh of ranks, and the coordinates of a rank in it.
//
// Ranks are numbered row-major over the axes: the first axis varies slowest.
// With axes dp=2, tp=4 rank 5 has dp=1, tp=1.

#ifndef RECIPERUN_PLAN_MESH_H
#define RECIPERUN_PLAN_MESH_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::plan {

/// Axes from the outermost (slowest-varying in rank order) to the innermost.
struct Axis {
  std::string name; // `dp`, `pp`, `cp`, `tp`
  int size = 1;
};
/// Ranks that communicate: their coordinates are equal on every axis that is
/// not listed. `{tp}` is a tensor-parallel group; all axes are the world.
struct Group {
  std::string name;
  std::vector<std::string> axes;
  /// If not empty, only the ranks of these stages are members.
  std::vector<int> stages = {};
};
struct Mesh {
  std::vector<Axis> axes;
  std::vector<Group> groups;
  int ranks = 1;
};

/// The index of an axis in `mesh.axes`, -1 when the mesh has none of that name.
int axisIndex(const Mesh& mesh, std::string_view axis);

/// Whether `name` is the axis itself or a group that lists the axis.
bool spans(const Mesh& mesh, std::string_view name, std::string_view axis);

/// Whether the mesh has an axis or a group of that name.
bool hasExtent(const Mesh& mesh, std::string_view name);

/// The index of a group in `mesh.groups`, -1 when there is none of that name.
int groupIndex(const Mesh& mesh, std::string_view name);

/// The number of ranks along an axis or in a group; 1 when the mesh has neither
/// of that name or the name is "".
int axisSize(const Mesh& mesh, std::string_view name);

/// The rank's index along an axis, or among the members of its instance of a
/// group, from 0; 0 when the mesh has neither of that name.
int coordinate(const Mesh& mesh, int rank, std::string_view name);

/// The ranks with `rank`'s coordinates on all axes outside the group, in
/// ascending order and including `rank`. A group without axes has `rank` as its
/// only member. A group of stages that exclude `rank`'s has no member.
std::vector<int> groupMembers(const Mesh& mesh, const Group& group, int rank);

/// The rank of another stage with the same coordinates on all other axes.
int rankInStage(const Mesh& mesh, int rank, int stage);

/// The number of ranks in each instance of a group.
int groupSize(const Mesh& mesh, const Group& group);

/// The owner of a block of keys, seen from the rank that attends to it: the
/// rank itself, or one whose index in the ring is lower or higher.
enum class BlockOwner { self, earlier, later };

/// The owner of the block that `rank` attends to in a step of ring attention
/// along `axis`. In step i it is the rank whose index in the ring is i lower,
/// modulo the size of the ring.
BlockOwner blockOwner(const Mesh& mesh, int rank, std::string_view axis,
                      int64_t step);

/// The axes that have several ranks: `dp 2 x tp 2`; empty for one rank.
std::string layoutText(const Mesh& mesh);

/// The product of a shape's dimensions; 1 for a scalar.
int64_t elementCount(const std::vector<int64_t>& shape);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_MESH_H
