// What a Program takes and how fast it should be.

#ifndef RECIPEC_COST_ESTIMATE_H
#define RECIPEC_COST_ESTIMATE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace recipec::cost {

/// Bytes of one rank by category, as the memory pass placed them.
struct MemoryTable {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t library = 0; // outside the arena: the hardware's, and connections'
  int64_t host = 0; // the copy that an asynchronous checkpoint is written from
  int64_t offloaded = 0; // activations that wait on the host
  int64_t arena = 0;     // the sum of the first five
  int64_t total = 0;     // arena + library, and what is on the host where the
                         // device is the host
  int64_t capacity = 0;

  bool fits() const { return total <= capacity; }
};

struct Estimate {
  MemoryTable memory;              // of the stage that takes most
  std::vector<MemoryTable> stages; // of each
  int ranks = 1;
  std::vector<int64_t> layersPerChunk;
  double flopsPerStep = 0; // of the whole job
  double peakFlops = 0;    // of one rank, in the compute type
  double stepSeconds = 0;
  double bubble = 0; // part of it in which a stage waits for others
  /// Part of it in which a rank does nothing but exchange data with others, on
  /// an average of the stages. What runs beside computing is none of it.
  double communication = 0;
  double tokensPerSecondPerRank = 0;
  double tflopsPerRank = 0;
  /// flopsPerStep / (stepSeconds * ranks * peakFlops)
  double mfu = 0;
  double trainSteps = 0; // of the whole run; 0 where the data decide
  double trainSeconds() const { return trainSteps * stepSeconds; }
  double tokensPerSecond() const { return tokensPerSecondPerRank * ranks; }
};

/// Of a rank of the stage of that number.
MemoryTable memoryTable(const std::vector<ir::Module>& stages, size_t stage,
                        const recipe::Recipe& recipe);

/// Tells the seconds of an op of the program by itself, by the roofline. The
/// program outlives it.
std::function<double(const ir::Op&)> opSeconds(const ir::Module& program,
                                               const recipe::Recipe& recipe);

/// Needs placements. Without a schedule `train` the figures of a step stay 0.
Estimate estimate(const std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe);

} // namespace recipec::cost

#endif // RECIPEC_COST_ESTIMATE_H
