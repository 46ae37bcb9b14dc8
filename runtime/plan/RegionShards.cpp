// The overlap of a parameter with the rank's part of its region.

#include "runtime/plan/RegionShards.h"

#include "runtime/plan/Mesh.h"

#include <algorithm>

namespace reciperun::plan {

int64_t blockElements(const Parameter& parameter, const Mesh& mesh) {
  int64_t elements = 1;
  for (size_t i = 0; i < parameter.globalShape.size(); ++i)
    elements *=
        parameter.globalShape[i] / axisSize(mesh, parameter.shardAxes[i]);
  return elements;
}

Run runInShard(const Region& region, size_t member,
               const std::vector<Parameter>& parameters, const Mesh& mesh,
               int rank) {
  const Parameter& parameter = parameters[size_t(region.parameters[member])];
  int64_t part = region.elements / axisSize(mesh, region.shardAxis);
  int64_t begin = part * coordinate(mesh, rank, region.shardAxis);
  int64_t start = region.starts[member];
  int64_t from = std::max(start, begin);
  int64_t to = std::min(start + blockElements(parameter, mesh), begin + part);
  return {from - start, std::max<int64_t>(0, to - from), from - begin};
}

} // namespace reciperun::plan
