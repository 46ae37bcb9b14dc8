// The learning rate of a step.

#ifndef RECIPERUN_TRAIN_SCHEDULE_H
#define RECIPERUN_TRAIN_SCHEDULE_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>

namespace reciperun::train {

/// The learning rate of step number `step` (from 0) of `steps`. With w warm-up
/// steps, it is
///   peak (step + 1) / (w + 1)                   while step <= w and w > 0,
///   min + (peak - min) (1 + cos(pi t)) / 2      `cosine`,
///   min + (peak - min) (1 - t)                  `linear`,
///   peak                                        `constant`,
/// as NeMo's WarmupAnnealHoldPolicy defines it, where t = (step - w) /
/// (steps - w), at most 1;
///   min + (peak - min) f(u)                     `wsd` (Hu et al. 2024),
/// where u is the part done of the last d steps, 0 before, and f(u) is
/// 1 - sqrt(u), 1 - u or (1 + cos(pi u)) / 2 by the shape; and
///   max(min, peak sqrt((w + 1) / (step + 1)))   `inverse_sqrt`
/// (Vaswani et al. 2017, equation 3). Where w or d is a fraction of the run, it
/// is rounded down to steps.
double learningRate(const plan::LearningRate& rate, int64_t step,
                    int64_t steps);

/// A warning when the warm-up is longer than the run's `steps`; empty
/// otherwise. A run of epochs knows its steps only after it has read its data.
std::string scheduleDoubt(const plan::LearningRate& rate, int64_t steps);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SCHEDULE_H
