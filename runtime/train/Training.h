// A training run on one rank: from a validated plan to a trained model.
//
//   prepare   where to start, data, arena, kernels, first weights
//   run       steps: load micro-batches, run the schedule, report, validate,
//             save
//   finish    memory report, export
//
// Every rank calls the same functions in the same order. What only some ranks
// can find out (a file that one host lacks) is agreed on before anybody goes
// on; what then fails in the midst of a step is for the caller to abort on.

#ifndef RECIPERUN_TRAIN_TRAINING_H
#define RECIPERUN_TRAIN_TRAINING_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/Loader.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/exec/Executor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/Report.h"
#include "runtime/train/Saving.h"
#include "runtime/train/Start.h"

#include <memory>
#include <optional>

namespace reciperun::train {

/// What the command line adds to the plan; none of it changes a result.
struct Options {
  Style style = Style::automatic;
  std::string gradients; // file for the first step's gradients; empty: none
};

/// How the loop ended.
struct Outcome {
  int signal = 0;         // the one that ended it early (see StopSignal.h)
  int64_t steps = 0;      // done by then
  Status failure;         // known to all ranks alike: a loss that is not finite
  std::string checkpoint; // the last that was saved; empty: none
};

class Training {
public:
  /// All arguments outlive the object.
  Training(const plan::Plan& plan, comm::Communicator& communicator,
           int threads, Options options);

  /// Makes the folder of the run, takes the memory, reads data and weights.
  /// Fails on all ranks with one message.
  Status prepare();

  /// All steps and validations, until the last one or a signal. A Status is
  /// this rank's own: the others do not know of it.
  Expected<Outcome> run();

  /// Compares predicted and actual memory, and writes the model. Fails on all
  /// ranks with one message.
  Status finish();

private:
  Status makeDirectory();
  Status openCheckpoints();
  Status takeMemory();
  Status openData();
  Status openFiles();
  Status fillState();
  void announce();
  std::string weightsText() const;

  Status load(const data::Loader& loader, int64_t step, int microBatch);
  Expected<StepRecord> trainStep(int64_t step);
  Expected<std::optional<double>> validate();
  bool validatesAfter(int64_t step) const;
  bool savesAfter(int64_t step) const;
  Expected<Outcome> runSteps();
  Status saveAfter(const StepRecord& record);
  void tellNews();
  Status stepFailure(const StepRecord& record) const;
  Status shareState();
  Status gatherGradients();
  Status dumpGradients(const std::string& path);
  Status reportMemory();
  bool isRoot() const { return communicator.rank() == 0; }

  const plan::Plan& plan;
  comm::Communicator& communicator;
  device::CpuContext context;
  Options options;
  memory::Arena arena;
  std::optional<exec::Executor> executor;
  std::optional<data::Tokenizer> tokenizer;
  std::optional<data::Loader> trainData;
  std::optional<data::Loader> validData;
  std::optional<checkpoint::CheckpointFolder> checkpoints; // read by rank 0
  Start start;
  std::optional<Saving> saving;       // where the plan saves checkpoints
  std::optional<MetricsFile> metrics; // on rank 0
  std::optional<Progress> progress;   // on rank 0
  int signal = 0;                     // agreed by all ranks
  int64_t peak = 0;                   // largest of all ranks
  Saving::Report reports;             // of all ranks
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_TRAINING_H
