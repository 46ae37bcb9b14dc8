// Answers the requests of an ensemble by running the models of its steps.
//
// A step starts when its inputs exist; steps that do not depend on one another
// run at the same time. Each response of a decoupled step starts a separate
// flow through the steps that depend on it. Each flow gives a response of the
// ensemble, in the order of the step's responses.

#ifndef RECIPERUN_SERVER_SCHEDULE_ENSEMBLESCHEDULER_H
#define RECIPERUN_SERVER_SCHEDULE_ENSEMBLESCHEDULER_H

#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/schedule/EnsembleGraph.h"
#include "runtime/server/schedule/Scheduler.h"

#include <functional>
#include <memory>

namespace reciperun::server {

class EnsembleScheduler : public Scheduler {
public:
  /// Starts a request of a step's model.
  using Infer = std::function<std::shared_ptr<Inference>(InferRequest,
                                                         Inference::Respond)>;

  /// `statistics` must outlive the object.
  EnsembleScheduler(EnsembleGraph graph, Infer infer,
                    ModelStatistics& statistics);

  void enqueue(std::shared_ptr<Inference> inference, int64_t elements) override;

private:
  std::shared_ptr<const EnsembleGraph> graph;
  Infer infer;
  ModelStatistics& statistics;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_ENSEMBLESCHEDULER_H
