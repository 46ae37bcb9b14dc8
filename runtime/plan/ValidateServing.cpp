// The section `serving` of a plan: limits agree with one another, and each
// bucket has buffers of its size that the ops of its function read.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Validate.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

std::string shapeName(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

class ServingValidation {
public:
  ServingValidation(const Plan& plan, const Serving& serving)
      : plan(plan), serving(serving), stage(plan.stages[0]) {}

  Status ofLimits() const {
    if (!isServingTask(plan.task))
      return damaged("it serves, and its task is " + quoted(plan.task));
    if (plan.stages.size() != 1)
      return damaged("it serves in " + std::to_string(plan.stages.size()) +
                     " stages, not in one");
    RECIPERUN_TRY(limits());
    return cache();
  }

  Status buckets() const {
    if (serving.buckets.empty())
      return damaged("it serves and has no buckets");
    int64_t before = 0;
    for (const Bucket& each : serving.buckets) {
      if (each.tokens <= before)
        return damaged("a bucket of " + std::to_string(each.tokens) +
                       " tokens follows one of " + std::to_string(before));
      before = each.tokens;
      RECIPERUN_TRY(bucket(each));
    }
    if (before < serving.tokenBudget)
      return damaged("its widest bucket is of " + std::to_string(before) +
                     " tokens, and its `token_budget` is " +
                     std::to_string(serving.tokenBudget));
    return Status::ok();
  }

private:
  Status inRange(const char* name, int64_t value, int64_t most) const {
    if (value >= 1 && value <= most)
      return Status::ok();
    return damaged("`" + std::string(name) + "` = " + std::to_string(value) +
                   " of serving is not from 1 to " + std::to_string(most));
  }

  Status limits() const {
    RECIPERUN_TRY(inRange("max_tokens", serving.maxTokens, maxSteps));
    RECIPERUN_TRY(inRange("max_input", serving.maxInput, serving.maxTokens));
    RECIPERUN_TRY(inRange("max_output", serving.maxOutput, serving.maxTokens));
    RECIPERUN_TRY(inRange("token_budget", serving.tokenBudget, maxSteps));
    RECIPERUN_TRY(inRange("max_batch", serving.maxBatch, serving.tokenBudget));
    if (serving.draftTokens < 0 || serving.draftTokens > maxSteps ||
        (serving.draftTokens > 0 && serving.hasStates))
      return damaged(
          "its `draft_tokens` = " + std::to_string(serving.draftTokens) +
          " are below 0, too many, or of a model whose states "
          "cannot be taken back");
    if (!serving.chunkedPrefill && serving.tokenBudget < serving.maxInput)
      return damaged("a prompt of " + std::to_string(serving.maxInput) +
                     " tokens does not fit in a step of " +
                     std::to_string(serving.tokenBudget));
    return Status::ok();
  }

  Status cache() const {
    const bool hasPages = serving.page != 0 || serving.pages != 0;
    if (serving.prefixCache && (!hasPages || serving.hasStates))
      return damaged("it reuses pages of a model that has states or no pages");
    if (!hasPages)
      return Status::ok();
    RECIPERUN_TRY(inRange("page", serving.page, maxSteps));
    RECIPERUN_TRY(inRange("pages", serving.pages, maxSteps));
    const int64_t needed = pagesOfSequence(serving);
    if (serving.pages < needed)
      return damaged("its cache has " + std::to_string(serving.pages) +
                     " pages, and a sequence of " +
                     std::to_string(serving.maxTokens) + " tokens needs " +
                     std::to_string(needed));
    if (!product(serving.maxBatch, needed))
      return damaged("its sequences have more than 2^63 pages");
    return Status::ok();
  }

  /// The index names a device buffer of this type and shape.
  Status holds(const std::string& who, int number, DType type,
               const std::vector<int64_t>& shape) const {
    if (number < 0 || number >= int(stage.buffers.size()))
      return damaged(who + " is buffer " + std::to_string(number) + " of " +
                     std::to_string(stage.buffers.size()));
    const Buffer& buffer = stage.buffers[size_t(number)];
    if (buffer.dtype != type || buffer.host || buffer.slots != 1)
      return damaged(who + " is " + quoted(buffer.name) +
                     ", of another type or place");
    if (buffer.shape != shape)
      return damaged(who + " is " + quoted(buffer.name) + " of shape " +
                     shapeName(buffer.shape) + " instead of " +
                     shapeName(shape));
    return Status::ok();
  }

  Status bucket(const Bucket& bucket) const {
    const std::string who =
        " of the bucket of " + std::to_string(bucket.tokens) + " tokens";
    if (bucket.function < 0 || bucket.function >= int(stage.functions.size()))
      return damaged("the function" + who + " is " +
                     std::to_string(bucket.function) + " of " +
                     std::to_string(stage.functions.size()));
    if (bucket.rows !=
        std::min(bucket.tokens, serving.maxBatch * (1 + serving.draftTokens)))
      return damaged("the number of rows" + who + " is " +
                     std::to_string(bucket.rows));
    const std::vector<int64_t> ofTokens = {1, bucket.tokens};
    const StepInputs& in = bucket.inputs;
    RECIPERUN_TRY(holds("`tokens`" + who, in.tokens, DType::i32, ofTokens));
    RECIPERUN_TRY(
        holds("`positions`" + who, in.positions, DType::i32, ofTokens));
    RECIPERUN_TRY(
        holds("`sequences`" + who, in.sequences, DType::i32, ofTokens));
    RECIPERUN_TRY(holds("`rows`" + who, in.rows, DType::i32, {1, bucket.rows}));
    if (serving.page > 0)
      RECIPERUN_TRY(holds("`pages`" + who, in.pages, DType::i32,
                          {serving.maxBatch, pagesOfSequence(serving)}));
    else if (in.pages != -1)
      return damaged("`pages`" + who + " is a buffer, and there are no pages");
    RECIPERUN_TRY(holds("the logits" + who, bucket.logits, plan.compute,
                        {1, bucket.rows, plan.data.vocab}));
    RECIPERUN_TRY(holds("the likeliest tokens" + who, bucket.likeliest,
                        DType::i32, {1, bucket.rows}));
    for (const Op& op : stage.functions[size_t(bucket.function)].ops)
      if (!readsInputs(op, in))
        return damaged("op " + quoted(op.name) + who +
                       " reads other inputs than the bucket's");
    return Status::ok();
  }

  /// Kernels index pages, sequences and rows with the values of the host, so
  /// ops read them from the buffers that the host fills.
  static bool readsInputs(const Op& op, const StepInputs& in) {
    switch (op.kind) {
    case OpKind::AttentionPaged:
      return op.inputs[3] == in.positions && op.inputs[4] == in.sequences &&
             op.inputs[5] == in.pages;
    case OpKind::CausalConvStep:
      return op.inputs[2] == in.positions && op.inputs[3] == in.sequences;
    case OpKind::StateScanStep:
      return op.inputs[7] == in.positions && op.inputs[8] == in.sequences;
    case OpKind::TakeRows:
      return op.inputs[1] == in.rows;
    default:
      return true;
    }
  }

  const Plan& plan;
  const Serving& serving;
  const Stage& stage;
};

} // namespace

Status validateServingLimits(const Plan& plan) {
  return plan.serving ? ServingValidation(plan, *plan.serving).ofLimits()
                      : Status::ok();
}

Status validateBuckets(const Plan& plan) {
  return plan.serving ? ServingValidation(plan, *plan.serving).buckets()
                      : Status::ok();
}

} // namespace reciperun::plan
