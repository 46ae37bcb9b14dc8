// Coordinates and groups of ranks, row-major over the axes of the mesh.

#include "runtime/plan/Mesh.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

bool spans(const Group& group, std::string_view axis) {
  return std::find(group.axes.begin(), group.axes.end(), axis) !=
         group.axes.end();
}

/// The distance in rank numbers between neighbours along axis number `index`.
int axisStride(const Mesh& mesh, size_t index) {
  int stride = 1;
  for (size_t inner = index + 1; inner < mesh.axes.size(); ++inner)
    stride *= mesh.axes[inner].size;
  return stride;
}

int axisCoordinate(const Mesh& mesh, int rank, size_t index) {
  return rank / axisStride(mesh, index) % mesh.axes[index].size;
}

bool isOf(const std::vector<int>& stages, int stage) {
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

const Group* findGroup(const Mesh& mesh, std::string_view name) {
  for (const Group& group : mesh.groups)
    if (group.name == name)
      return &group;
  return nullptr;
}

} // namespace

int axisIndex(const Mesh& mesh, std::string_view axis) {
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (mesh.axes[i].name == axis)
      return static_cast<int>(i);
  return -1;
}

bool spans(const Mesh& mesh, std::string_view name, std::string_view axis) {
  if (name == axis)
    return true;
  const Group* group = findGroup(mesh, name);
  return group && spans(*group, axis);
}

bool hasExtent(const Mesh& mesh, std::string_view name) {
  return axisIndex(mesh, name) >= 0 || findGroup(mesh, name);
}

int groupIndex(const Mesh& mesh, std::string_view name) {
  const Group* group = findGroup(mesh, name);
  return group ? int(group - mesh.groups.data()) : -1;
}

int axisSize(const Mesh& mesh, std::string_view name) {
  int index = axisIndex(mesh, name);
  if (index >= 0)
    return mesh.axes[index].size;
  const Group* group = findGroup(mesh, name);
  return group ? groupSize(mesh, *group) : 1;
}

int coordinate(const Mesh& mesh, int rank, std::string_view name) {
  int index = axisIndex(mesh, name);
  if (index >= 0)
    return axisCoordinate(mesh, rank, index);
  const Group* group = findGroup(mesh, name);
  if (!group)
    return 0;
  int result = 0;
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    if (spans(*group, mesh.axes[i].name))
      result = result * mesh.axes[i].size + axisCoordinate(mesh, rank, i);
  return result;
}

std::vector<int> groupMembers(const Mesh& mesh, const Group& group, int rank) {
  if (!group.stages.empty() &&
      !isOf(group.stages, coordinate(mesh, rank, "pp")))
    return {};
  std::vector<int> members = {rank};
  // Every spanned axis replaces each member by the row of ranks through it.
  // Going from the outermost axis inwards keeps the order rising.
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    const Axis& axis = mesh.axes[i];
    if (!spans(group, axis.name))
      continue;
    int stride = axisStride(mesh, i);
    std::vector<int> wider;
    for (int member : members) {
      int first = member - member / stride % axis.size * stride;
      for (int step = 0; step < axis.size; ++step)
        wider.push_back(first + step * stride);
    }
    members = std::move(wider);
  }
  if (!group.stages.empty())
    std::erase_if(members, [&](int member) {
      return !isOf(group.stages, coordinate(mesh, member, "pp"));
    });
  return members;
}

int rankInStage(const Mesh& mesh, int rank, int stage) {
  int index = axisIndex(mesh, "pp");
  if (index < 0)
    return rank;
  return rank + (stage - axisCoordinate(mesh, rank, size_t(index))) *
                    axisStride(mesh, size_t(index));
}

int groupSize(const Mesh& mesh, const Group& group) {
  int size = 1;
  for (const Axis& axis : mesh.axes)
    if (spans(group, axis.name))
      size *= axis.name == "pp" && !group.stages.empty()
                  ? int(group.stages.size())
                  : axis.size;
  return size;
}

BlockOwner blockOwner(const Mesh& mesh, int rank, std::string_view axis,
                      int64_t step) {
  if (step == 0)
    return BlockOwner::self;
  return step <= coordinate(mesh, rank, axis) ? BlockOwner::earlier
                                              : BlockOwner::later;
}

std::string layoutText(const Mesh& mesh) {
  std::string axes;
  for (const Axis& axis : mesh.axes)
    if (axis.size > 1)
      axes += (axes.empty() ? "" : " x ") + axis.name + " " +
              std::to_string(axis.size);
  return axes;
}

int64_t elementCount(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t dimension : shape)
    count *= dimension;
  return count;
}

} // namespace reciperun::plan
