// `reciperun bench COLLECTIVE`: the speed of a collective between the ranks of
// a job, as nccl-tests measures it.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECOMMAND_H
#define RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECOMMAND_H

#include "runtime/cli/Command.h"

#include <vector>

namespace reciperun::bench {

/// The subcommands of `bench`, one for each test of nccl-tests. Exit codes: 0
/// done; 1 failed, or elements are wrong, or a bandwidth is lower than
/// NCCL_TESTS_MIN_BW or `--compare` allow.
std::vector<cli::Command> collectiveCommands();

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECOMMAND_H
