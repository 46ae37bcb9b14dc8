// Experts by number; see ExpertTensors.h.

#include "runtime/checkpoint/ExpertTensors.h"

#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/Mesh.h"

namespace reciperun::checkpoint {
namespace {

std::string nameOf(const plan::Parameter& parameter, int64_t expert) {
  std::string name = parameter.hfName;
  return name.replace(name.find(plan::expertPlace), plan::expertPlace.size(),
                      std::to_string(expert));
}

} // namespace

std::vector<std::string> tensorNames(const plan::Parameter& parameter) {
  if (!plan::isByExpert(parameter))
    return {parameter.hfName};
  std::vector<std::string> names;
  for (int64_t e = 0; e < parameter.globalShape[0]; ++e)
    names.push_back(nameOf(parameter, e));
  return names;
}

std::vector<TensorPart> tensorParts(const plan::Parameter& parameter,
                                    const plan::Mesh& mesh, int rank) {
  if (!plan::isByExpert(parameter))
    return {{parameter.hfName, parameter, 0}};
  plan::Parameter one = parameter;
  one.globalShape.erase(one.globalShape.begin());
  one.shardAxes.erase(one.shardAxes.begin());
  const std::string& axis = parameter.shardAxes[0];
  int64_t count = parameter.globalShape[0] / plan::axisSize(mesh, axis);
  int64_t first = count * plan::coordinate(mesh, rank, axis);
  int64_t elements = ShardLayout(one, mesh, rank).elements();
  std::vector<TensorPart> parts;
  for (int64_t e = 0; e < count; ++e)
    parts.push_back({nameOf(parameter, first + e), one, e * elements});
  return parts;
}

} // namespace reciperun::checkpoint
