// `reciperun bench device`: what this machine's GPU or CPU sustains.

#ifndef RECIPERUN_BENCH_DEVICECOMMAND_H
#define RECIPERUN_BENCH_DEVICECOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::bench {

/// The subcommand `device` of `bench`. Exit codes: 0 done, 1 failed.
cli::Command deviceCommand();

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_DEVICECOMMAND_H
