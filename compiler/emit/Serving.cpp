// The section `serving`; see Serving.h.

#include "compiler/emit/Serving.h"

#include "compiler/ir/CachePages.h"
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

/// Adds the pages of a stage. All stages with attention have the same number of
/// pages of the same length, and the same number on the host.
void addPages(const ir::Module& stage, plan::Serving& made) {
  const ir::Op* attention = findOp(stage, ir::OpKind::AttentionPaged);
  if (!attention)
    return;
  const std::vector<int64_t> shape =
      ir::localShape(stage, attention->results[1]);
  made.pages = shape[0];
  made.page = shape[1];
  made.hostPages = stage.hostBytes / ir::pageBytes(stage);
}

} // namespace

plan::Serving servingSection(const recipe::Recipe& recipe,
                             const std::vector<ir::Module>& stages) {
  plan::Serving made;
  made.maxBatch = recipe.integer("serve.max_batch");
  made.maxInput = recipe.integer("serve.max_input");
  made.maxOutput = recipe.integer("serve.max_output");
  made.maxTokens = recipe.integer("data.sequence");
  made.tokenBudget = recipe.integer("serve.token_budget");
  for (const ir::Module& stage : stages) {
    made.hasStates |= findOp(stage, ir::OpKind::StateScanStep) != nullptr;
    addPages(stage, made);
  }
  // A state is not kept at the end of a shared prefix, so models with states
  // have no prefix cache.
  made.prefixCache =
      recipe.boolean("serve.prefix_cache") && made.pages > 0 && !made.hasStates;
  made.chunkedPrefill = recipe.boolean("serve.chunked_prefill");
  made.draftTokens = recipe.integer("serve.drafted");
  made.adapters = recipe.integer("serve.adapters");
  auto policy =
      reciperun::ops::findServingPolicy(recipe.string("serve.policy"));
  assert(policy && "the schema has a policy that runtime/ops lacks");
  made.policy = *policy;
  return made;
}

} // namespace recipec::emit
