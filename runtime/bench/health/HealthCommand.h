// `reciperun bench health`: whether the GPUs and links of a job are well.

#ifndef RECIPERUN_BENCH_HEALTH_HEALTHCOMMAND_H
#define RECIPERUN_BENCH_HEALTH_HEALTHCOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::bench {

/// The subcommand `health` of `bench`. Exit codes: 0 healthy, 1 a problem, or
/// failed.
cli::Command healthCommand();

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_HEALTHCOMMAND_H
