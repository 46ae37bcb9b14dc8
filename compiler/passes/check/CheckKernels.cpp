// No parallel degree splits these dimensions, so the sizes of the whole model
// are those of each rank.

#include "compiler/passes/check/CheckKernels.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/KernelLimits.h"

#include <optional>
#include <set>
#include <string>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;
using ir::OpKind;

/// The most elements of the last dimension of operand number `operand`. The
/// message is: `what` takes `sizes` `most` `units`.
struct Limit {
  size_t operand;
  int64_t most;
  const char *what, *sizes, *units;
};

std::optional<Limit> limitOf(const ir::Module& graph, const ir::Op& op) {
  switch (op.kind) {
  case OpKind::Attention:
    return Limit{0, sizes::widestHead, "attention", "heads of up to",
                 "elements"};
  case OpKind::StateScan:
    return Limit{2, sizes::widestState, "a state space", "states of up to",
                 "numbers"};
  case OpKind::Route:
    return Limit{0, sizes::mostExperts, "routing", "up to", "experts"};
  case OpKind::RmsNorm:
  case OpKind::LayerNorm:
    return Limit{0, sizes::widestRow / ir::byteSize(graph[op.operands[0]].type),
                 "a norm", "rows of up to", "elements"};
  default:
    return std::nullopt;
  }
}

} // namespace

void checkKernels(const ir::Module& graph, const recipe::Recipe& recipe,
                  diag::Engine& engine) {
  if (recipe.string("cluster.hardware.kind") != "cuda")
    return;
  std::set<ir::DimId> reported;
  for (const ir::Function& function : graph.functions)
    for (const ir::Op& op : function.ops) {
      const std::optional<Limit> limit = limitOf(graph, op);
      if (!limit)
        continue;
      const ir::DimId id = graph[op.operands[limit->operand]].dims.back();
      const ir::Dim& dim = graph[id];
      if (dim.size <= limit->most || !reported.insert(id).second)
        continue;
      engine
          .report(diag::Kind::NotSupported, dim.range,
                  std::string(limit->what) + " on GPUs takes " + limit->sizes +
                      " " + std::to_string(limit->most) + " " + limit->units +
                      ", not " + std::to_string(dim.size))
          .propose({"set `cluster.hardware` to ",
                    {{"`cpu`", {"cluster.hardware=cpu"}}},
                    ", or take fewer"})
          .otherwise("take " + std::to_string(limit->most) + " or fewer");
    }
}

} // namespace recipec::passes
