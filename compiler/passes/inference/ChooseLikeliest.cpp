// See ChooseLikeliest.h.

#include "compiler/passes/inference/ChooseLikeliest.h"

#include "runtime/ops/OpKind.h"

#include <cassert>
#include <utility>

namespace recipec::passes {

void chooseLikeliest(ir::Module& graph) {
  assert(graph.functions.size() == 1 && "the Graph is `forward` alone");
  ir::Function& forward = graph.functions.front();
  const ir::ValueId logits = graph.bindings.at("logits");
  ir::Value ids;
  ids.name = "likeliest";
  ids.kind = ir::ValueKind::temporary;
  ids.type = ir::DType::i32;
  ids.dims = {graph[logits].dims[0], graph[logits].dims[1]};
  ids.sharding.dims.resize(2);
  ir::Op op{};
  op.kind = ir::OpKind::Argmax;
  op.name = "likeliest";
  op.operands = {logits};
  op.results = {ir::addValue(graph, std::move(ids))};
  op.layer = forward.ops.back().layer;
  op.range = forward.ops.back().range;
  graph.bindings["likeliest"] = op.results[0];
  forward.ops.push_back(std::move(op));
}

} // namespace recipec::passes
