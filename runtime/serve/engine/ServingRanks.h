// The ranks of a job that serve one model together.
//
// Rank 0 leads: it reads prompts, schedules steps and chooses tokens. It
// announces each step, which the other ranks follow, each on its part of the
// model. The logits are whole on all ranks of the last pipeline stage, one of
// which sends rank 0 what it wants of them.

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
  /// Joins the job, or stays alone where no launcher has started others.
  /// `folder` is the model, or why it cannot be read. `threads` of the host are
  /// used; all that this rank may take when it is 0. See status(). Collective.
  static std::unique_ptr<ServingRanks> join(const Expected<ModelFolder>& folder,
                                            int threads);

  /// Ok, or the same failure on all ranks: the folder's, or that its plan is
  /// for another number of ranks, with the command that starts them.
  const Status& status() const { return joined; }

  ServingRanks(const ServingRanks&) = delete;
  ServingRanks& operator=(const ServingRanks&) = delete;
  /// On rank 0: ends the work of the others, or the job when a step has failed.
  ~ServingRanks();

  bool leads() const { return !session || session->rank() == 0; }
  /// The threads of this rank's host.
  int threads() const { return cpuThreads; }

  /// Opens the model on all ranks. For rank 0, after a status of ok. This
  /// object must outlive the result.
  Expected<std::unique_ptr<StepModel>> open(const ModelFolder& folder);

  /// Follows rank 0 until it ends, and returns the exit code. Ends the job when
  /// a step fails here. For the other ranks.
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

  std::optional<comm::MpiSession> session; // of several ranks
  Status joined;
  int cpuThreads = 1;
  bool hasFailed = false; // in the middle of a step
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SERVINGRANKS_H
