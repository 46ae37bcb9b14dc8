// One request of an ensemble while its steps run (see EnsembleScheduler.h).

#ifndef RECIPERUN_SERVER_SCHEDULE_ENSEMBLERUN_H
#define RECIPERUN_SERVER_SCHEDULE_ENSEMBLERUN_H

#include "runtime/server/schedule/EnsembleScheduler.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reciperun::server {

/// Lives as long as one of its steps runs. Belongs to the server's thread.
class EnsembleRun : public std::enable_shared_from_this<EnsembleRun> {
public:
  EnsembleRun(std::shared_ptr<const EnsembleGraph> graph,
              EnsembleScheduler::Infer infer,
              std::shared_ptr<Inference> inference);

  void start();

private:
  /// The steps that depend on the request alone, or on one response of a
  /// decoupled step.
  struct Flow {
    int64_t source = -1; // the decoupled step; -1: the request
    Flow* parent = nullptr;
    size_t place = 0; // order of its responses in the answer
    std::map<std::string, Tensor> tensors = {}; // besides those of the parent
    TokenCounts tokens = {};                    // of its steps
    std::set<size_t> started = {};              // steps
    size_t runningSteps = 0, openFlows = 0;
    bool hadFlows = false; // they answer in its stead
  };

  const Tensor* find(const Flow& flow, const std::string& tensor) const;
  bool isReady(const Flow& flow, const EnsembleStep& step) const;
  void startSteps();
  void startSteps(Flow& flow);
  void startStep(Flow& flow, size_t step);
  InferRequest requestOf(const Flow& flow, const EnsembleStep& step) const;
  bool isWanted(const std::string& tensor) const;
  void take(Flow& flow, size_t step, InferResponse response);
  void addFlow(Flow& parent, size_t step, InferResponse response);
  bool awaitsTensors(const Flow& flow) const;
  void settle();
  void endFlow(const Flow& flow);
  InferResponse responseOf(const Flow& flow) const;
  void sendReady();
  void fail(const Status& failure);

  std::shared_ptr<const EnsembleGraph> graph;
  EnsembleScheduler::Infer infer;
  std::shared_ptr<Inference> inference;
  std::vector<std::unique_ptr<Flow>> open;   // the root first
  std::deque<std::unique_ptr<Flow>> waiting; // EnsembleGraph::mostInflight
  std::vector<std::shared_ptr<Inference>> requests; // of steps
  size_t places = 0, nextPlace = 0;
  std::map<size_t, std::vector<InferResponse>> ready; // by place
  std::set<size_t> endedPlaces;
  bool isStarting = false, hasNews = false; // in startSteps()
  bool isSettling = false, hasEnded = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_ENSEMBLERUN_H
