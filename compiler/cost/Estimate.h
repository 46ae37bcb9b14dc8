// Predicts the memory and the step time of a Program.

#ifndef RECIPEC_COST_ESTIMATE_H
#define RECIPEC_COST_ESTIMATE_H

#include "compiler/cost/Kernels.h"
#include "compiler/ir/Connections.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace recipec::cost {

/// Bytes of one rank by category, as the memory pass placed them.
struct MemoryTable {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer = 0;
  int64_t cache = 0; // what serving keeps of sequences between steps
  int64_t activations = 0;
  int64_t workspace = 0;
  int64_t library = 0; // outside the arena: the hardware's and the connections'
  int64_t host = 0; // the copy that an asynchronous checkpoint is written from
  int64_t offloaded = 0; // activations offloaded to the host
  int64_t arena = 0;     // the sum of the first six
  int64_t draft = 0;     // the additional bytes of a draft model
  /// arena + library + draft, and host bytes of a CPU device
  int64_t total = 0;
  int64_t capacity = 0;

  bool fits() const { return total <= capacity; }
};

struct Estimate {
  MemoryTable memory;              // of the stage that takes the most memory
  std::vector<MemoryTable> stages; // one per stage
  int ranks = 1;
  std::vector<int64_t> layersPerChunk;
  double flopsPerStep = 0; // of the whole job
  double peakFlops = 0;    // of one rank, in the compute type
  double stepSeconds = 0;  // predicted
  /// The step is predicted to take stepSeconds * (1 - uncertainty) to
  /// stepSeconds * (1 + uncertainty).
  double uncertainty = 0;
  double leastStepSeconds = 0; // lower bound by the roofline
  /// Fractions of the step, averaged over the stages: the kernels' time by the
  /// kind of work, and the communication that no kernel overlaps, by group (see
  /// FunctionRun).
  std::map<Work, double> work;
  std::map<std::string, double> exposed;
  /// The fraction of the step in which kernels wait for copies from or to the
  /// host.
  double copies = 0;
  double bubble = 0; // fraction of the step in which a stage waits for others
  /// The fraction of the step in which a rank only communicates, averaged over
  /// the stages. Communication that overlaps computation does not count.
  double communication = 0;
  double tokensPerSecondPerRank = 0;
  double tflopsPerRank = 0;
  /// flopsPerStep / (stepSeconds * ranks * peakFlops)
  double mfu = 0;
  double trainSteps = 0; // of the whole run; 0 when the data set decides
  double trainSeconds() const { return trainSteps * stepSeconds; }
  double tokensPerSecond() const { return tokensPerSecondPerRank * ranks; }
};

/// The memory of a rank that runs a stage's Program. `connections` is null when
/// the rank has none that take memory.
MemoryTable memoryTable(const ir::Module& stage,
                        const ir::Connections* connections,
                        const recipe::Recipe& recipe);

/// The bytes that a draft model's Program adds to those of the served one,
/// which has loaded the libraries. `recipe` is the served model's.
int64_t draftBytes(const ir::Module& draft, const recipe::Recipe& recipe);

/// The stage that takes the most memory.
const MemoryTable& fullest(const std::vector<MemoryTable>& stages);

/// The Programs must have placements. The step time is predicted
/// (Prediction.h); without a schedule `train`, the figures of the step stay 0.
Estimate estimate(const std::vector<ir::Module>& stages,
                  const std::optional<ir::Connections>& connections,
                  const recipe::Recipe& recipe);

} // namespace recipec::cost

#endif // RECIPEC_COST_ESTIMATE_H
