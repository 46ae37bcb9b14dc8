// 1. Add up the sizes of the parameters.
// 2. Scale down the weights of experts to the fraction that one token uses. The
//    router of an expert linear is the last one before it. The number of
//    choices per token is the last dimension of the router's first result.

#include "compiler/cost/Parameters.h"
#include "runtime/ops/OpKind.h"

#include <map>

namespace recipec::cost {
namespace {

int64_t elementsOf(const ir::Module& graph, ir::ValueId value) {
  int64_t elements = 1;
  for (ir::DimId dim : graph[value].dims)
    elements *= graph[dim].size;
  return elements;
}

/// The fraction of each expert weight that one token uses.
std::map<ir::ValueId, double> usedParts(const ir::Module& graph) {
  std::map<ir::ValueId, double> parts;
  for (const ir::Function& function : graph.functions) {
    int64_t choices = 0;
    for (const ir::Op& op : function.ops) {
      if (op.kind == ir::OpKind::Route)
        choices = graph[graph[op.results[0]].dims.back()].size;
      if (op.kind != ir::OpKind::ExpertLinear)
        continue;
      ir::ValueId weights = op.operands[1];
      int64_t experts = graph[graph[weights].dims.front()].size;
      parts[weights] = double(choices) / double(experts);
    }
  }
  return parts;
}

} // namespace

ParameterCounts countParameters(const ir::Module& graph) {
  ParameterCounts counts;
  const std::map<ir::ValueId, double> parts = usedParts(graph);
  for (const ir::Param& param : graph.params) {
    if (param.adapter && !param.trainable)
      continue;
    int64_t elements = elementsOf(graph, param.value);
    auto part = parts.find(param.value);
    counts.total += elements;
    counts.trained += param.trainable ? elements : 0;
    counts.active += part == parts.end()
                         ? elements
                         : int64_t(double(elements) * part->second);
  }
  return counts;
}

} // namespace recipec::cost
