// A training run on one rank: from a validated plan to a trained model.
//
//   prepare   start, data, arena, kernels, initial weights
//   run       steps: load micro-batches, run the schedule, report, validate,
//             save
//   finish    memory report, export
//
// prepareEvaluation and evaluate compute the loss of a model instead.
//
// Every rank calls the same functions in the same order. When only some ranks
// can detect a failure (a file that one host lacks), all ranks agree on the
// outcome before they continue. When a step fails, the caller must abort the
// job.

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
#include "runtime/train/Phases.h"
#include "runtime/train/Profiling.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Report.h"
#include "runtime/train/RunData.h"
#include "runtime/train/Saving.h"
#include "runtime/train/Start.h"
#include "runtime/train/StartReport.h"
#include "runtime/train/StepBuffers.h"
#include "runtime/train/StragglerDetector.h"
#include "runtime/train/metrics/MetricsEndpoint.h"
#include "runtime/train/metrics/RunRecorder.h"
#include "runtime/train/spot/SpotWatch.h"

#include <memory>
#include <optional>

namespace reciperun::train {

/// Options of the command line. They do not affect results.
struct Options {
  Style style = Style::automatic;
  std::string gradients; // file for the first step's gradients; empty: none
  bool timesOps = false; // report the time of each kind of op
  ProfileRange profile;  // steps to trace
};

/// The loss of a model on the validation data.
struct Validation {
  double loss = 0;   // mean over the counted tokens
  double weight = 0; // number of counted tokens
};

/// How the training loop ended.
struct Outcome {
  int signal = 0;         // that ended it early, or 0 (see StopSignal.h)
  std::string notice;     // of the cloud, which had the signal sent
  int64_t steps = 0;      // finished steps
  Status failure;         // the same on all ranks: a bad loss, a full disk
  std::string checkpoint; // the last one saved; empty: none
};

class Training {
public:
  /// All arguments must outlive the object.
  Training(const plan::Plan& plan, Rank& rank, Options options);

  /// Creates the folder of the run, allocates memory, reads data and weights.
  /// Fails on all ranks with one message, also after a signal to end the run:
  /// see stoppedBy.
  Status prepare();
  /// The signal that ended `prepare`, the same on all ranks; 0 when there was
  /// none.
  int stoppedBy() const { return signal; }

  /// Runs all steps and validations until the last one or a signal. A failed
  /// Status belongs to this rank only; the others do not know it.
  Expected<Outcome> run();

  /// Compares predicted and actual memory, and exports the model. Fails on all
  /// ranks with one message.
  Status finish();

  /// Allocates memory, reads the validation data and loads the weights of the
  /// checkpoint `wanted`, as in findWeights. Fails on all ranks with one
  /// message.
  Status prepareEvaluation(const std::string& wanted);
  /// Evaluates the validation data once. A failed Status belongs to this rank
  /// only.
  Expected<Validation> evaluate();
  /// The checkpoint or directory that the weights were loaded from.
  const std::string& weightsPath() const { return evaluated; }

private:
  Status makeDirectory();
  Status lock(const std::filesystem::path& file, const std::string& inUse);
  Status drawRun();
  Status describe();
  Status checkAnswers() const;
  Status checkWeights() const;
  Status openCheckpoints();
  Status takeMemory();
  Status openSaving();
  Status prepareKernels();
  Status unlessStopped(const Status& mine);
  int64_t predictedBytes(const plan::MemoryTable& planned) const;
  Status serveMetrics();
  Status findPlaces();
  Status watchSpotNotices();
  Status openFiles();
  Status initializeState();
  Status loadStart();
  checkpoint::Condition conditionAfter(const Status& loaded) const;
  Status passOver(const std::string& reason);
  Status fillState();
  Status chooseStart();
  StartReport startReport() const;
  void print(const std::vector<std::string>& lines);

  Expected<StepRecord> trainStep(int64_t step);
  std::optional<comm::Watch::Duration> paceOf(int64_t step) const;
  Expected<std::optional<Validation>> validateAfter(int64_t step);
  void tellNotes();
  Status tellStragglers(const StepRecord& record);
  Status shareSpotNotice();
  Status tellSpotNotice(const StepRecord& record);
  void beginProfiling(int64_t step);
  Status writeTraces();
  Status setInputs(int64_t step);
  void addTimes(StepRecord& record) const;
  Expected<std::optional<Validation>> validate();
  bool validatesAfter(int64_t step) const;
  bool savesAfter(int64_t step) const;
  Expected<Outcome> runSteps();
  Status saveAfter(const StepRecord& record);
  Status waitForMetrics();
  Status tellNews();
  void recordEnd(const Outcome& outcome);
  Status giveUp(const std::string& complaint);
  Status shareState();
  int64_t takenBytes() const;
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
  std::optional<Saving> saving; // when the plan saves checkpoints
  // On rank 0. The metrics are null without a port for them.
  std::unique_ptr<TrainMetrics> served;
  std::unique_ptr<MetricsEndpoint> endpoint; // uses `served`
  std::optional<RunRecorder> recorder;
  std::optional<Progress> progress;     // on rank 0
  std::optional<GradientNorms> norms;   // when the plan logs them
  LossSpikeDetector spikes;             // on rank 0, which decides for all
  std::vector<RankPlace> places;        // when they are needed
  std::unique_ptr<SpotWatch> spotWatch; // on a rank of each host
  std::string spotNotice;               // agreed by all ranks
  std::optional<StragglerDetector> stragglers; // when the plan looks for them
  std::optional<RankTimes> rankTimes; // of a window that has just ended
  StartTimes startTimes;
  PhaseClock clock;
  HostClock hostClock;
  Profiling profiling;
  double startTime = epochSeconds();
  StepTimes times;                 // of this rank
  StepTimes longest;               // of all ranks
  std::string resumed;             // the checkpoint that this run resumed
  std::string evaluated;           // see weightsPath
  int signal = 0;                  // agreed by all ranks
  int64_t peak = 0;                // largest of all ranks
  std::optional<double> usualLoss; // on rank 0, when the last loss is a spike
  bool isSpike = false;            // agreed by all ranks
  Saving::Report reports;          // of all ranks
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_TRAINING_H
