// See EnsembleScheduler.h.

#include "runtime/server/schedule/EnsembleScheduler.h"

#include "runtime/server/schedule/EnsembleRun.h"

#include <utility>

namespace reciperun::server {

EnsembleScheduler::EnsembleScheduler(EnsembleGraph given, Infer infer,
                                     ModelStatistics& statistics)
    : graph(std::make_shared<const EnsembleGraph>(std::move(given))),
      infer(std::move(infer)), statistics(statistics) {}

void EnsembleScheduler::enqueue(std::shared_ptr<Inference> inference,
                                int64_t elements) {
  statistics.noteExecution(uint64_t(elements));
  std::make_shared<EnsembleRun>(graph, infer, std::move(inference))->start();
}

} // namespace reciperun::server
