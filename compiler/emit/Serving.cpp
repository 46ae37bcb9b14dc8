// The section `serving`; see Serving.h.

#include "compiler/emit/Serving.h"

#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>

namespace recipec::emit {
namespace {

namespace plan = reciperun::plan;

/// The first op of the kind; null when the Program has none.
const ir::Op* findOp(const ir::Module& program, ir::OpKind kind) {
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == kind)
        return &op;
  return nullptr;
}

} // namespace

plan::Serving servingSection(const recipe::Recipe& recipe,
                             const ir::Module& program) {
  plan::Serving made;
  made.maxBatch = recipe.integer("serve.max_batch");
  made.maxInput = recipe.integer("serve.max_input");
  made.maxOutput = recipe.integer("serve.max_output");
  made.maxTokens = recipe.integer("data.sequence");
  made.tokenBudget = recipe.integer("serve.token_budget");
  made.hasStates = findOp(program, ir::OpKind::StateScanStep) != nullptr;
  if (const ir::Op* attention = findOp(program, ir::OpKind::AttentionPaged)) {
    const std::vector<int64_t> shape =
        ir::localShape(program, attention->results[1]);
    made.pages = shape[0];
    made.page = shape[1];
  }
  // The state after a shared beginning is not kept.
  made.prefixCache =
      recipe.boolean("serve.prefix_cache") && made.pages > 0 && !made.hasStates;
  made.chunkedPrefill = recipe.boolean("serve.chunked_prefill");
  made.draftTokens = recipe.integer("serve.drafted");
  auto policy =
      reciperun::ops::findServingPolicy(recipe.string("serve.policy"));
  assert(policy && "the schema has a policy that runtime/ops lacks");
  made.policy = *policy;
  return made;
}

} // namespace recipec::emit
