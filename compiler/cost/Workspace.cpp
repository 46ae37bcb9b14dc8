// One case for each op with a workspace.

#include "compiler/cost/Workspace.h"

#include "runtime/plan/AttentionWorkspace.h"
#include "runtime/plan/RingWorkspace.h"

namespace recipec::cost {

namespace {

namespace plan = reciperun::plan;

plan::DType planType(ir::DType type) {
  switch (type) {
  case ir::DType::f64:
    return plan::DType::f64;
  case ir::DType::bf16:
    return plan::DType::bf16;
  default:
    return plan::DType::f32;
  }
}

bool flagOf(const ir::Op& op, const char* name, bool otherwise) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? otherwise
                                      : std::get<bool>(found->second);
}

int64_t integerOf(const ir::Op& op, const char* name) {
  const auto found = op.attributes.find(name);
  return found == op.attributes.end() ? 0 : std::get<int64_t>(found->second);
}

/// Of an attention whose queries are operand `first`, before its keys.
plan::AttentionSizes attentionSizes(const ir::Module& program, const ir::Op& op,
                                    size_t first) {
  const std::vector<int64_t> q = ir::localShape(program, op.operands[first]),
                             k = ir::localShape(program,
                                                op.operands[first + 1]);
  plan::AttentionSizes sizes;
  sizes.type = planType(program[op.operands[first]].type);
  sizes.batch = q[0];
  sizes.queries = q[1];
  sizes.heads = q[2];
  sizes.width = q[3];
  sizes.keys = k[1];
  sizes.keyHeads = k[2];
  sizes.hasDocuments = flagOf(op, "documents", true);
  sizes.mostDocuments = integerOf(op, "most_documents");
  sizes.isDeterministic = flagOf(op, "deterministic", true);
  sizes.window = integerOf(op, "window");
  sizes.isBounded = op.attributes.contains("chunk") ||
                    op.attributes.contains("softcap") ||
                    (sizes.window && !flagOf(op, "causal", true));
  return sizes;
}

int64_t ringElements(const ir::Module& program, const ir::Op& op, size_t first,
                     bool isBackward) {
  return plan::ringWorkspace({attentionSizes(program, op, first),
                              ir::sizeOf(program, op.group)},
                             isBackward)
      .elements();
}

} // namespace

int64_t workspaceElements(const ir::Module& program, const ir::Op& op) {
  if (op.kind == ir::OpKind::RingAttention)
    return ringElements(program, op, 0, false);
  if (op.kind == ir::OpKind::RingAttentionBackward)
    return ringElements(program, op, 2, true);
  if (op.kind == ir::OpKind::AttentionBackward)
    return plan::attentionWorkspace(attentionSizes(program, op, 2));
  // An expert's gradient is summed in f32 before it is added to a narrower one.
  if (op.kind == ir::OpKind::ExpertLinearWgrad &&
      program[op.results[0]].type == ir::DType::bf16)
    return ir::localElements(program, op.results[0]) /
           ir::localShape(program, op.results[0])[0];
  return 0;
}

} // namespace recipec::cost
