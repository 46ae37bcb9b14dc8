// `reciperun bench serve`: the speed of serving a model.

#ifndef RECIPERUN_SERVE_BENCH_BENCHCOMMAND_H
#define RECIPERUN_SERVE_BENCH_BENCHCOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::serve {

/// The subcommand `serve` of `bench`. Exit codes: 0 done; 1 failed, also when a
/// request failed; 128 + n ended by signal n. The table goes to stdout.
cli::Command benchServeCommand();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHCOMMAND_H
