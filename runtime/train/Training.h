// A training run on one rank: from a validated plan to a trained model.
//
//   prepare   where to start, data, arena, kernels, first weights
//   run       steps: load micro-batches, run the schedule, report, validate,
//             save
//   finish    memory report, export
//
// Or, to find out how good a model is, prepareEvaluation and evaluate.
//
// Every rank calls the same functions in the same order. What only some ranks
// can find out (a file that one host lacks) is agreed on before anybody goes
// on; what then fails in the midst of a step is for the caller to abort on.

#ifndef RECIPERUN_TRAIN_TRAINING_H
#define RECIPERUN_TRAIN_TRAINING_H

#include "runtime/checkpoint/FolderLock.h"
#include "runtime/comm/TimedCommunicator.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/GradientNorms.h"
#include "runtime/train/HostClock.h"
#include "runtime/train/LossSpikeDetector.h"
#include "runtime/train/NonFinite.h"
#include "runtime/train/OpTimes.h"
#include "runtime/train/Phases.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Report.h"
#include "runtime/train/RunData.h"
#include "runtime/train/Saving.h"
#include "runtime/train/Start.h"
#include "runtime/train/StepBuffers.h"
#include "runtime/train/Trace.h"

#include <memory>
#include <optional>

namespace reciperun::train {

/// What the command line adds to the plan; none of it changes a result.
struct Options {
  Style style = Style::automatic;
  std::string gradients; // file for the first step's gradients; empty: none
  bool timesOps = false; // tell how long ops of each kind take
  ProfileRange profile;  // steps to write a trace of
};

/// What a model is worth on the validation data.
struct Validation {
  double loss = 0;   // mean over the places that count
  double weight = 0; // how many these are
};

/// How the loop ended.
struct Outcome {
  int signal = 0;         // the one that ended it early (see StopSignal.h)
  int64_t steps = 0;      // done by then
  Status failure;         // known to all ranks alike: a bad loss, a full disk
  std::string checkpoint; // the last that was saved; empty: none
};

class Training {
public:
  /// All arguments outlive the object.
  Training(const plan::Plan& plan, Rank& rank, Options options);

  /// Makes the folder of the run, takes the memory, reads data and weights.
  /// Fails on all ranks with one message, and once a signal has come that is to
  /// end the run: see stoppedBy.
  Status prepare();
  /// The signal that ended `prepare`, the same on all ranks; 0: none.
  int stoppedBy() const { return signal; }

  /// All steps and validations, until the last one or a signal. A Status is
  /// this rank's own: the others do not know of it.
  Expected<Outcome> run();

  /// Compares predicted and actual memory, and writes the model. Fails on all
  /// ranks with one message.
  Status finish();

  /// Takes the memory, reads the validation data and the weights: those of the
  /// checkpoint `wanted`, as findWeights has it. Fails on all ranks with one
  /// message.
  Status prepareEvaluation(const std::string& wanted);
  /// Goes through the validation data once. A Status is this rank's own.
  Expected<Validation> evaluate();
  /// Where the weights are from: the path of a checkpoint or of a directory.
  const std::string& weightsPath() const { return evaluated; }

private:
  Status makeDirectory();
  Status lock(const std::filesystem::path& file, const std::string& inUse);
  Status drawRun();
  Status describe();
  Status checkAnswers() const;
  Status checkProfile() const;
  Status checkWeights() const;
  Status openCheckpoints();
  Status takeMemory();
  Status openSaving();
  Status prepareKernels();
  Status unlessStopped(const Status& mine);
  int64_t predictedBytes(const plan::MemoryTable& planned) const;
  Status openFiles();
  Status initializeState();
  Status loadStart();
  checkpoint::Condition conditionAfter(const Status& loaded) const;
  Status passOver(const std::string& reason);
  Status fillState();
  std::string damagedText(int64_t step, const std::string& reason) const;
  Status chooseStart();
  void announce();
  void announceMemory();
  void announceFolder();
  void announceResumed();
  std::string weightsText() const;
  std::string scheduleText() const;

  exec::Observer& observerOf(int64_t step);
  Expected<StepRecord> trainStep(int64_t step);
  std::optional<comm::Watch::Duration> paceOf(int64_t step) const;
  Expected<std::optional<Validation>> validateAfter(int64_t step);
  void tellNotes();
  void tellTimes(int64_t step, const exec::Observer& observer);
  void beginTrace();
  int64_t lastProfiled() const;
  Status writeTraces();
  Status endTrace(const std::filesystem::path& folder);
  Status setInputs(int64_t step);
  void addTimes(StepRecord& record) const;
  Expected<std::optional<Validation>> validate();
  bool validatesAfter(int64_t step) const;
  bool savesAfter(int64_t step) const;
  Expected<Outcome> runSteps();
  Status saveAfter(const StepRecord& record);
  Status waitForMetrics();
  void tellNews();
  Expected<std::string> complaintOf(const StepRecord& record);
  Expected<std::string> causeOf(int64_t step);
  static std::string validationComplaint(const StepRecord& record);
  std::string originText(const NonFiniteSearch& search,
                         const NonFiniteSearch::Origin& origin,
                         int64_t step) const;
  Expected<std::string> badGradient();
  std::string spikeText(const StepRecord& record) const;
  Status giveUp(const std::string& complaint);
  Status shareState();
  int64_t takenBytes() const;
  Status gatherParameters();
  Status gatherGradients();
  Status dumpGradients(const std::string& path);
  Status reportMemory();
  void reportSources();
  bool isRoot() const { return communicator.rank() == 0; }

  const plan::Plan& plan;
  const plan::Stage& stage; // of this rank
  device::Device& device;
  int threads; // of the host
  comm::TimedCommunicator communicator;
  Options options;
  memory::Arena arena;
  std::optional<exec::Executor> executor;
  std::optional<StepBuffers> buffers; // of the executor
  RunData sets;
  std::optional<checkpoint::CheckpointFolder> checkpoints; // read by rank 0
  std::vector<checkpoint::FolderLock> locks;               // of rank 0
  std::string runId;                         // see checkpoint::SaveId
  std::vector<checkpoint::Setting> settings; // on rank 0
  Start start;
  std::optional<Saving> saving;       // where the plan saves checkpoints
  std::optional<MetricsFile> metrics; // on rank 0
  std::optional<Progress> progress;   // on rank 0
  std::optional<GradientNorms> norms; // where the plan logs them
  LossSpikeDetector spikes;           // of rank 0, which all go by
  StartTimes startTimes;
  PhaseClock clock;
  HostClock hostClock;
  std::optional<OpTimes> opTimes;  // where they are asked for
  std::optional<Trace> trace;      // while steps are profiled
  StepTimes times;                 // of this rank
  StepTimes longest;               // of all ranks
  std::string resumed;             // the checkpoint that this run goes on from
  std::string evaluated;           // see weightsPath
  int signal = 0;                  // agreed by all ranks
  int64_t peak = 0;                // largest of all ranks
  std::optional<double> usualLoss; // on rank 0, where the last loss exceeds it
  bool isSpike = false;            // agreed by all ranks
  Saving::Report reports;          // of all ranks
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_TRAINING_H
