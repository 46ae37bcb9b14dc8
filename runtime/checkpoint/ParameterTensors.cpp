// Tensors per expert, and rows of tensors; see ParameterTensors.h.

#include "runtime/checkpoint/ParameterTensors.h"

#include "runtime/plan/ExpertNames.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/TensorRows.h"

#include <algorithm>
#include <map>

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

std::vector<TensorShard> tensorParts(const plan::Parameter& parameter,
                                     const plan::Mesh& mesh, int rank) {
  if (!plan::isByExpert(parameter))
    return {{parameter.hfName,
             ShardLayout(parameter, mesh, rank)
                 .behind(plan::elementsBefore(parameter)),
             0}};
  plan::Parameter one = parameter;
  one.globalShape.erase(one.globalShape.begin());
  one.shardAxes.erase(one.shardAxes.begin());
  const std::string& axis = parameter.shardAxes[0];
  int64_t count = parameter.globalShape[0] / plan::axisSize(mesh, axis);
  int64_t first = count * plan::coordinate(mesh, rank, axis);
  ShardLayout block(one, mesh, rank);
  std::vector<TensorShard> parts;
  for (int64_t e = 0; e < count; ++e)
    parts.push_back(
        {nameOf(parameter, first + e), block, e * block.elements()});
  return parts;
}

std::vector<int> inFileOrder(const plan::Plan& plan,
                             const std::vector<int>& parameters) {
  auto rowsOf = [&](int number) {
    return plan.parameters[size_t(number)].hfRows;
  };
  std::map<std::string, std::vector<int>> shared;
  for (int number : parameters)
    if (rowsOf(number))
      shared[plan.parameters[size_t(number)].hfName].push_back(number);
  for (auto& [name, parts] : shared)
    std::sort(parts.begin(), parts.end(), [&](int a, int b) {
      return rowsOf(a)->first < rowsOf(b)->first;
    });
  std::vector<int> ordered;
  for (int number : parameters) {
    if (!rowsOf(number)) {
      ordered.push_back(number);
      continue;
    }
    std::vector<int>& parts = shared[plan.parameters[size_t(number)].hfName];
    ordered.insert(ordered.end(), parts.begin(), parts.end());
    parts.clear();
  }
  return ordered;
}

std::vector<TensorSpec> tensorSpecs(const plan::Parameter& parameter,
                                    std::string_view dtype) {
  std::vector<TensorSpec> specs;
  if (parameter.hfRows && parameter.hfRows->first > 0)
    return specs;
  for (std::string& name : tensorNames(parameter))
    specs.push_back(
        {std::move(name), std::string(dtype), plan::tensorShape(parameter)});
  return specs;
}

} // namespace reciperun::checkpoint
