// See ChooseTokens.h.

#include "compiler/passes/inference/ChooseTokens.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/DrawNumbers.h"

#include <cassert>
#include <utility>

namespace recipec::passes {

using ir::ValueId;

/// Adds a value [batch, sequence, ...more], which is bound by its name.
static ValueId addOfTokens(ir::Module& graph, const char* name,
                           ir::ValueKind kind, ir::DType type,
                           std::vector<ir::DimId> more) {
  const ir::Value& logits = graph[graph.bindings.at("logits")];
  ir::Value value;
  value.name = name;
  value.kind = kind;
  value.type = type;
  value.dims = {logits.dims[0], logits.dims[1]};
  value.dims.insert(value.dims.end(), more.begin(), more.end());
  value.sharding.dims.resize(value.dims.size());
  return graph.bindings[name] = ir::addValue(graph, std::move(value));
}

void chooseTokens(ir::Module& graph) {
  assert(graph.functions.size() == 1 && "the Graph is `forward` alone");
  ir::Function& forward = graph.functions.front();
  const ValueId draws = addOfTokens(
      graph, "draws", ir::ValueKind::input, ir::DType::f64,
      {ir::addDim(graph, "draw_numbers", reciperun::sizes::drawNumbers)});
  ir::Op op{};
  op.kind = ir::OpKind::Sample;
  op.name = "chosen";
  op.operands = {graph.bindings.at("logits"), draws};
  op.results = {addOfTokens(graph, "chosen", ir::ValueKind::temporary,
                            ir::DType::i32, {})};
  op.layer = forward.ops.back().layer;
  op.range = forward.ops.back().range;
  forward.ops.push_back(std::move(op));
}

} // namespace recipec::passes
