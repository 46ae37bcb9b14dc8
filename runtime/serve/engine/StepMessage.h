// A step as rank 0 announces it to the other ranks of a model.

#ifndef RECIPERUN_SERVE_ENGINE_STEPMESSAGE_H
#define RECIPERUN_SERVE_ENGINE_STEPMESSAGE_H

#include "runtime/serve/engine/StepPlan.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// Appends the step: bucket, tokens, rows and the numbers of parts, copies and
/// loads;
/// for each part its slot, adapter, position, rows, rows of the prompt, whether
/// it has a draw, and the numbers of its ids and pages; then the draws, ids and
/// pages of all parts, the pages and the direction of each copy, and adapter
/// and place of each load.
void appendStep(const StepPlan& step, std::vector<int32_t>& message);

/// The step of a message that appendStep wrote, without request ids. Its spans
/// are of the message.
StepPlan readStep(std::span<const int32_t> message);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_STEPMESSAGE_H
