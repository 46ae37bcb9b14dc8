// Models for tests of a protocol, without a repository.
//
//   simple    INPUT0, INPUT1 -> OUTPUT0 (sum), OUTPUT1 (difference), at once
//   held      as `simple`, once the test says so
//   repeat    decoupled: a response OUT [1] for each element of IN
//   twice     answers twice, though it is not decoupled
//   silent    ends without a response
//   failing   fails with INTERNAL `it broke`

#ifndef RECIPERUN_TEST_SERVER_GRPC_FAKEMODELS_H
#define RECIPERUN_TEST_SERVER_GRPC_FAKEMODELS_H

#include "runtime/server/models/ModelServer.h"

#include <deque>
#include <map>
#include <memory>
#include <semaphore>
#include <string>
#include <vector>

namespace reciperun::server {

class FakeModels : public ModelServer {
public:
  FakeModels();

  // ---- for tests: of the server's thread, or between calls
  bool live = true, ready = true;
  std::vector<InferRequest> requests;          // all that arrived
  std::deque<std::shared_ptr<Inference>> open; // of `held` and `repeat`
  LoadOverrides overrides;                     // of the last load
  std::string unloaded; // the last; with `+` where dependents are too
  /// Bytes of each element that `repeat` sends, in place of the element.
  size_t repeatBytes = 0;
  /// Where set, `repeat` waits for answerRepeat().
  bool repeatWaits = false;

  /// Each is released for a request that arrives at `held` or waits at
  /// `repeat`, or is cancelled there.
  std::counting_semaphore<> arrivals{0}, cancellations{0};

  /// Answers a request of `held`, as if it took three tokens and wrote two.
  static void answerSum(Inference& inference);
  void answerRepeat(Inference& inference) const;

  // ---- ModelServer
  bool isLive() const override { return live; }
  bool isReady() const override { return ready; }
  Expected<bool> isModelReady(const std::string& model,
                              int64_t version) const override;
  Expected<ModelMetadata> metadata(const std::string& model,
                                   int64_t version) const override;
  Expected<std::shared_ptr<const inference::ModelConfig>>
  config(const std::string& model, int64_t version) const override;
  Expected<std::vector<ModelStatistics>>
  statistics(const std::string& model, int64_t version) const override;
  std::shared_ptr<Inference> infer(InferRequest request,
                                   Inference::Respond respond) override;
  std::vector<IndexEntry> index(bool readyOnly) const override;
  void load(const std::string& model, LoadOverrides overrides,
            std::function<void(Status)> then) override;
  void unload(const std::string& model, bool dependents,
              std::function<void(Status)> then) override;

private:
  void hold(const std::shared_ptr<Inference>& inference);
  void answer(const std::shared_ptr<Inference>& inference);

  std::map<std::string, std::shared_ptr<const inference::ModelConfig>> configs;
};

} // namespace reciperun::server

#endif // RECIPERUN_TEST_SERVER_GRPC_FAKEMODELS_H
