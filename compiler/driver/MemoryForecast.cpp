// 1. The backward pass reads values of kind `saved`, one copy per micro-batch
//    in flight. With full recomputation only the layers' inputs remain, and all
//    values of one layer while it is recomputed.
// 2. `memory.expert_rows` removes expert rows above its limit, in the ops after
//    the rows are exchanged.

#include "compiler/driver/MemoryForecast.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <map>
#include <set>

namespace recipec::driver {
namespace {

bool isAttention(const ir::Op& op) {
  return op.kind == ir::OpKind::Attention ||
         op.kind == ir::OpKind::AttentionBlock;
}

/// Whether an op's result has space for every row that ranks could send.
bool exchangesRows(const ir::Op& op) {
  return op.kind == ir::OpKind::Dispatch || ops::traitsOf(op.kind).isCollective;
}

bool hasRows(const ir::Module& stage, ir::ValueId value) {
  const auto& dims = stage[value].dims;
  return std::any_of(dims.begin(), dims.end(), [&](ir::DimId dim) {
    return stage[dim].name.starts_with("expert_places") ||
           stage[dim].name.starts_with("expert_rows");
  });
}

double copies(const ir::Value& value) {
  return std::max(1, value.slots);
}

} // namespace

MemoryForecast::MemoryForecast(const Compilation& compilation) {
  const auto& stages = compilation.estimate.stages;
  auto fullest = std::max_element(stages.begin(), stages.end(),
                                  [](const auto& left, const auto& right) {
                                    return left.total < right.total;
                                  });
  memory = *fullest;
  const ir::Module& stage =
      compilation.stages[size_t(fullest - stages.begin())];
  measureSaved(stage);
  measureExperts(stage);
}

void MemoryForecast::measureSaved(const ir::Module& stage) {
  std::map<int, double> ofLayers;
  // The last saved result of a layer is the input of the next, except expert
  // rows.
  std::map<int, double> inputOfLayers;
  std::set<ir::ValueId> isCounted; // several ops may write one value
  for (const ir::Function& function : stage.functions)
    for (const ir::Op& op : function.ops)
      for (ir::ValueId result : op.results) {
        if (op.layer < 0 || result == ir::ValueId::none ||
            !isCounted.insert(result).second)
          continue;
        const ir::Value& value = stage[result];
        if (value.kind != ir::ValueKind::saved || value.onHost)
          continue;
        double bytes = double(ir::localBytes(stage, result));
        double all = bytes * copies(value);
        saved += all;
        ofLayers[op.layer] += bytes;
        if (!hasRows(stage, result))
          inputOfLayers[op.layer] = all;
        if (isAttention(op))
          quick += all;
        if (hasRows(stage, result) && !exchangesRows(op))
          expertBytes += all;
      }
  for (const auto& [layer, bytes] : ofLayers)
    savedOfLayer = std::max(savedOfLayer, bytes);
  for (const auto& [layer, bytes] : inputOfLayers)
    inputs += bytes;
}

void MemoryForecast::measureExperts(const ir::Module& stage) {
  double choices = 0, experts = 0;
  for (const ir::Function& function : stage.functions)
    for (const ir::Op& op : function.ops) {
      if (op.kind == ir::OpKind::Route) {
        choices = double(stage[stage[op.results[0]].dims.back()].size);
        experts = double(stage[stage[op.operands[0]].dims.back()].size);
      }
    }
  if (experts == 0)
    return;
  double groups =
      double(std::max<int64_t>(1, ir::sizeOf(stage, ir::axesOf(stage, "ep"))));
  rowsToShare = std::min(choices, experts / groups) * groups / choices;
}

double MemoryForecast::part(double bytesLess) const {
  double activations = double(memory.activations);
  if (activations <= 0)
    return 1;
  return std::clamp(1 - bytesLess / activations, 0.0, 1.0);
}

int64_t MemoryForecast::total(const MemoryChange& change) const {
  return memory.total +
         int64_t((change.parameters - 1) * double(memory.parameters) +
                 (change.gradients - 1) * double(memory.gradients) +
                 (change.optimizer - 1) * double(memory.optimizer) +
                 (change.activations - 1) * double(memory.activations));
}

double MemoryForecast::fullRecompute() const {
  return part(saved - std::min(saved, inputs + savedOfLayer));
}

double MemoryForecast::selectiveRecompute() const {
  return part(quick);
}

double MemoryForecast::expertRows(double factor) const {
  if (!hasExperts() || factor >= rowsToShare)
    return 1;
  return part(expertBytes * (1 - factor / rowsToShare));
}

} // namespace recipec::driver
