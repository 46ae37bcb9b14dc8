// The ranks of a job that serve one model together.
//
// Rank 0 leads: it reads prompts, schedules steps and chooses tokens. It
// announces each step to the other ranks, and each rank runs it on its part of
// the model. Each rank of the last pipeline stage has the complete logits, and
// one of them sends rank 0 the results that it wants.

#ifndef RECIPERUN_SERVE_ENGINE_SERVINGRANKS_H
#define RECIPERUN_SERVE_ENGINE_SERVINGRANKS_H

#include "runtime/base/Status.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/serve/engine/StepModel.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace reciperun::serve {

class ServedModel;

class ServingRanks {
public:
  /// Joins the job, or runs alone if no launcher has started other ranks.
  /// `folder` is the model, or the failure to read it. Uses `threads` CPU
  /// threads; 0: all that this rank may use. status() has the outcome.
  /// Collective.
  static std::unique_ptr<ServingRanks> join(const Expected<ModelFolder>& folder,
                                            int threads);

  /// Ok, or the same failure on all ranks: the failure of `folder`, or a plan
  /// for another number of ranks, with the command that starts the right
  /// number.
  const Status& status() const { return joined; }

  ServingRanks(const ServingRanks&) = delete;
  ServingRanks& operator=(const ServingRanks&) = delete;
  /// On rank 0: tells the other ranks to end, or aborts the job when a step has
  /// failed.
  ~ServingRanks();

  bool leads() const { return !session || session->rank() == 0; }
  /// The number of CPU threads of this rank.
  int threads() const { return cpuThreads; }

  /// Opens the model on all ranks. Only rank 0 calls it, after status() is ok.
  /// This object must outlive the result.
  Expected<std::unique_ptr<StepModel>> open(const ModelFolder& folder);

  /// Called by the other ranks: runs the steps of rank 0 until rank 0 ends, and
  /// returns the exit code. Aborts the job when a step fails here.
  int follow(const Expected<ModelFolder>& folder);

private:
  class Leader;

  ServingRanks() = default;
  Status start(const Expected<ModelFolder>& folder, int threads);
  Status startAlone(const Expected<ModelFolder>& folder, int threads);
  Expected<std::unique_ptr<ServedModel>> openPart(const ModelFolder& folder);
  int followSteps(const ModelFolder& folder);
  static Status addAdapter(ServedModel& part, std::span<const int32_t> message);
  Status followStep(ServedModel& part, std::span<const int32_t> message,
                    StepResults& results) const;
  Expected<std::vector<int32_t>> nextMessage() const;
  [[noreturn]] void endJob(const Status& failure);

  std::optional<comm::MpiSession> session; // if there are several ranks
  Status joined;
  int cpuThreads = 1;
  bool hasFailed = false; // in the middle of a step
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SERVINGRANKS_H
