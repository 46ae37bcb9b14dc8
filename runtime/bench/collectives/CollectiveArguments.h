// The command line of `reciperun bench COLLECTIVE`: nccl-tests' options, short
// and long, and those of the comparison with an earlier run.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEARGUMENTS_H
#define RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEARGUMENTS_H

#include "runtime/bench/collectives/CollectiveBench.h"
#include "runtime/cli/Command.h"

#include <string>
#include <vector>

namespace reciperun::bench {

struct CollectiveArguments {
  static constexpr int allRoots = -1;

  CollectiveTest test = CollectiveTest::allReduce;
  CollectiveBenchOptions bench;
  std::vector<comm::Reduction> reductions = {comm::Reduction::sum};
  std::vector<const ElementType*> types = {findElementType("float")};
  int root = 0; // or allRoots
  int threads = 1, gpus = 1;
  int cycles = 1;
  double timeout = 0; // seconds; 0: the default
  std::string device; // `cuda` or `cpu`; empty: what the program is built for
  std::string outputPath; // of the JSON; empty: none
  std::string comparedPath;
  double tolerance = 10; // percent

  /// The kinds to measure on `ranks` ranks, in nccl-tests' order.
  std::vector<CollectiveKind> kinds(int ranks) const;
};

/// The options, which store into `arguments`.
std::vector<cli::Option> collectiveOptions(CollectiveArguments& arguments);

/// Checks combinations of options.
cli::Check checkCollectiveArguments(const CollectiveArguments& arguments);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEARGUMENTS_H
