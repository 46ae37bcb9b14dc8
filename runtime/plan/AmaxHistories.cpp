// See AmaxHistories.h.

#include "runtime/plan/AmaxHistories.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/Plan.h"

#include <set>

namespace reciperun::plan {

std::span<const QuantizedTensor> quantizedTensors(OpKind kind) {
  static constexpr QuantizedTensor ofQuantize[] = {{0, 1}},
                                   ofSwiglu[] = {{0, 2}},
                                   ofSwigluBackward[] = {{0, 3}, {5, 4}};
  switch (kind) {
  case OpKind::Quantize:
    return ofQuantize;
  case OpKind::SwigluQuantize:
    return ofSwiglu;
  case OpKind::SwigluBackwardQuantize:
    return ofSwigluBackward;
  default:
    return {};
  }
}

std::vector<int> amaxHistoryBuffers(const Stage& stage) {
  std::set<int> found;
  for (const Function& function : stage.functions)
    for (const Op& op : function.ops)
      for (const QuantizedTensor& tensor : quantizedTensors(op.kind))
        if (const int buffer = op.inputs[tensor.history]; buffer >= 0)
          found.insert(buffer);
  return {found.begin(), found.end()};
}

} // namespace reciperun::plan
