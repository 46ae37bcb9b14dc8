// The learning rate of a step.

#ifndef RECIPERUN_TRAIN_SCHEDULE_H
#define RECIPERUN_TRAIN_SCHEDULE_H

#include "runtime/plan/Plan.h"

#include <cstdint>

namespace reciperun::train {

/// The learning rate of step number `step` (from 0) of `steps`, as NeMo's
/// WarmupAnnealHoldPolicy defines it: with w warm-up steps,
///   peak (step + 1) / (w + 1)                   while step <= w and w > 0,
///   min + (peak - min) (1 + cos(pi t)) / 2      `cosine`,
///   min + (peak - min) (1 - t)                  `linear`,
///   peak                                        `constant`,
/// where t = (step - w) / (steps - w), at most 1.
double learningRate(const plan::LearningRate& rate, int64_t step,
                    int64_t steps);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SCHEDULE_H
