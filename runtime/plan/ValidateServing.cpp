// The section `serving` of a plan: its limits agree with one another. Each
// stage has a step for each bucket. The step has buffers of the bucket's size,
// and the ops of its schedule read these buffers.

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Validate.h"
#include "runtime/sizes/DrawNumbers.h"

#include <algorithm>

namespace reciperun::plan {
namespace {

std::string shapeName(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// A stage's part of the steps of a bucket.
class StepValidation {
public:
  StepValidation(const Plan& plan, const Stage& stage, const Bucket& bucket)
      : plan(plan), stage(stage), bucket(bucket),
        who(" of the bucket of " + std::to_string(bucket.tokens) + " tokens") {}

  Status run(const StageStep& step) const {
    if (step.schedule < 0 || step.schedule >= int(stage.schedules.size()))
      return damaged("the schedule" + who + " is " +
                     std::to_string(step.schedule) + " of " +
                     std::to_string(stage.schedules.size()));
    RECIPERUN_TRY(inputs(step.inputs));
    RECIPERUN_TRY(results(step));
    return reads(step);
  }

private:
  Status inputs(const StepInputs& in) const {
    const Serving& serving = *plan.serving;
    const std::vector<int64_t> ofTokens = {1, bucket.tokens};
    RECIPERUN_TRY(holds("`tokens`", in.tokens, DType::i32, ofTokens,
                        /*isNeeded=*/isFirst()));
    RECIPERUN_TRY(holds("`positions`", in.positions, DType::i32, ofTokens,
                        /*isNeeded=*/false));
    RECIPERUN_TRY(holds("`sequences`", in.sequences, DType::i32, ofTokens,
                        /*isNeeded=*/false));
    RECIPERUN_TRY(holds("`adapters`", in.adapters, DType::i32, ofTokens,
                        /*isNeeded=*/false));
    if (serving.page == 0 && in.pages != -1)
      return damaged("`pages`" + who + " is a buffer, and there are no pages");
    return holds("`pages`", in.pages, DType::i32,
                 {serving.maxBatch, pagesOfSequence(serving)},
                 /*isNeeded=*/false);
  }

  Status results(const StageStep& step) const {
    const std::vector<int64_t> ofRows = {1, bucket.rows};
    RECIPERUN_TRY(holds("`rows`", step.inputs.rows, DType::i32, ofRows,
                        /*isNeeded=*/false));
    RECIPERUN_TRY(holds("the logits", step.logits, plan.compute,
                        {1, bucket.rows, plan.data.vocab}, isLast()));
    RECIPERUN_TRY(holds("`draws`", step.inputs.draws, DType::f64,
                        {1, bucket.rows, sizes::drawNumbers}, isLast()));
    return holds("the chosen tokens", step.chosen, DType::i32, ofRows,
                 isLast());
  }

  Status reads(const StageStep& step) const {
    for (const ScheduleStep& each :
         stage.schedules[size_t(step.schedule)].steps)
      if (each.kind == ScheduleStep::Kind::run)
        for (const Op& op : stage.functions[size_t(each.function)].ops)
          if (!readsInputs(op, step.inputs))
            return damaged("op " + quoted(op.name) + who +
                           " reads other inputs than the bucket's");
    return Status::ok();
  }

  bool isFirst() const { return &stage == &plan.stages.front(); }
  bool isLast() const { return &stage == &plan.stages.back(); }

  /// Checks that the index names a device buffer of this type and shape. A
  /// buffer that is not needed may be absent.
  Status holds(const char* role, int number, DType type,
               const std::vector<int64_t>& shape, bool isNeeded) const {
    if (!isNeeded && number == -1)
      return Status::ok();
    const std::string name = role + who;
    if (number < 0 || number >= int(stage.buffers.size()))
      return damaged(name + " is buffer " + std::to_string(number) + " of " +
                     std::to_string(stage.buffers.size()));
    const Buffer& buffer = stage.buffers[size_t(number)];
    if (buffer.dtype != type || buffer.host || buffer.slots != 1)
      return damaged(name + " is " + quoted(buffer.name) +
                     ", of another type or place");
    if (buffer.shape != shape)
      return damaged(name + " is " + quoted(buffer.name) + " of shape " +
                     shapeName(buffer.shape) + " instead of " +
                     shapeName(shape));
    return Status::ok();
  }

  /// Whether the op reads the inputs of the step from the buffers that the host
  /// fills. Kernels use these values as indices of pages, sequences and rows.
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
    case OpKind::Sample:
      return op.inputs[1] == in.draws;
    default:
      return true;
    }
  }

  const Plan& plan;
  const Stage& stage;
  const Bucket& bucket;
  std::string who;
};

class ServingValidation {
public:
  ServingValidation(const Plan& plan, const Serving& serving)
      : plan(plan), serving(serving) {}

  Status ofLimits() const {
    if (!isServingTask(plan.task))
      return damaged("it serves, and its task is " + quoted(plan.task));
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
      RECIPERUN_TRY(rows(each));
    }
    if (before < serving.tokenBudget)
      return damaged("its widest bucket is of " + std::to_string(before) +
                     " tokens, and its `token_budget` is " +
                     std::to_string(serving.tokenBudget));
    for (const Stage& stage : plan.stages)
      RECIPERUN_TRY(steps(stage));
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
    RECIPERUN_TRY(adapters());
    if (!serving.chunkedPrefill && serving.tokenBudget < serving.maxInput)
      return damaged("a prompt of " + std::to_string(serving.maxInput) +
                     " tokens does not fit in a step of " +
                     std::to_string(serving.tokenBudget));
    return Status::ok();
  }

  /// Checks that dimension 0 of each LoRA parameter is the number of adapters.
  Status adapters() const {
    if (serving.adapters < 0 || serving.adapters > maxSteps)
      return damaged("its `adapters` = " + std::to_string(serving.adapters) +
                     " are below 0 or too many");
    for (const Parameter& parameter : plan.parameters)
      if (parameter.adapter &&
          (parameter.globalShape.size() < 3 || parameter.hfShape.size() != 3 ||
           parameter.globalShape[0] != serving.adapters ||
           parameter.hfShape[0] != serving.adapters))
        return damaged("parameter " + quoted(parameter.name) + " is not of " +
                       std::to_string(serving.adapters) + " adapters");
    return Status::ok();
  }

  Status cache() const {
    const bool hasPages = serving.page != 0 || serving.pages != 0;
    if (serving.prefixCache && (!hasPages || serving.hasStates))
      return damaged("it reuses pages of a model that has states or no pages");
    if (serving.hostPages != 0 && !serving.prefixCache)
      return damaged("it keeps pages on the host, and reuses none");
    if (!hasPages)
      return Status::ok();
    if (serving.hostPages < 0 || serving.hostPages > maxSteps)
      return damaged("its " + std::to_string(serving.hostPages) +
                     " pages on the host are below 0 or too many");
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

  Status rows(const Bucket& bucket) const {
    if (bucket.rows ==
        std::min(bucket.tokens, serving.maxBatch * (1 + serving.draftTokens)))
      return Status::ok();
    return damaged("the number of rows of the bucket of " +
                   std::to_string(bucket.tokens) + " tokens is " +
                   std::to_string(bucket.rows));
  }

  Status steps(const Stage& stage) const {
    if (stage.steps.size() != serving.buckets.size())
      return damaged("a stage has " + std::to_string(stage.steps.size()) +
                     " steps for " + std::to_string(serving.buckets.size()) +
                     " buckets");
    RECIPERUN_TRY(hostPages(stage));
    for (size_t i = 0; i < stage.steps.size(); ++i)
      RECIPERUN_TRY(
          StepValidation(plan, stage, serving.buckets[i]).run(stage.steps[i]));
    return Status::ok();
  }

  /// The host's arena has the pages of all layers of the stage.
  Status hostPages(const Stage& stage) const {
    int64_t bytes = 0;
    for (int buffer : cachePages(stage))
      bytes += pageBytes(stage.buffers[size_t(buffer)]);
    const int64_t taken = stage.memory.offloaded;
    if (serving.hostPages == 0 ||
        (bytes <= taken &&
         taken / std::max<int64_t>(1, bytes) == serving.hostPages))
      return Status::ok();
    return damaged("a stage has " + std::to_string(taken) +
                   " bytes on the host for " +
                   std::to_string(serving.hostPages) + " pages of " +
                   std::to_string(bytes) + " bytes");
  }

  const Plan& plan;
  const Serving& serving;
};

} // namespace

Status validateServingLimits(const Plan& plan) {
  if (plan.draft && (!plan.serving || plan.serving->draftTokens == 0))
    return damaged("it has a draft model and guesses no tokens");
  return plan.serving ? ServingValidation(plan, *plan.serving).ofLimits()
                      : Status::ok();
}

Status validateBuckets(const Plan& plan) {
  return plan.serving ? ServingValidation(plan, *plan.serving).buckets()
                      : Status::ok();
}

} // namespace reciperun::plan
