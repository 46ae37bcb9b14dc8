// A model server for tests of protocols, with models that take no time:
//
//   simple           OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1 of
//                    INT32 [16]; batches of up to 8
//   identity_<TYPE>  OUTPUT0 = INPUT0 of any shape, for each data type
//   raw_words        the same with BYTES [1] in batches of up to 8
//   square           the same with FP32 [-1, -1]
//   scores           OUTPUT0 = INPUT0 of FP32 [4] in batches of up to 8; its
//                    labels are `cat`, `dog`, `fox`
//   mock_llm         decoupled; TEXT = PROMPT, REPETITION times every DELAY
//                    milliseconds, then a failure where FAIL_LAST
//   no_batch         two inputs, of which one is optional; echoes the
//                    parameters of the request
//   slow             answers only when it is cancelled
//   two_answers      sends two responses, though not declared decoupled
//   half             OUTPUT0 of FP16, which has no form in JSON

#ifndef RECIPERUN_TEST_SERVER_KSERVE_FAKEMODELS_H
#define RECIPERUN_TEST_SERVER_KSERVE_FAKEMODELS_H

#include "runtime/server/http/EventLoop.h"
#include "runtime/server/models/ModelServer.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::server {

class FakeModels : public ModelServer {
public:
  /// `loop` must outlive the object.
  explicit FakeModels(EventLoop& loop);
  ~FakeModels() override;

  bool isLive() const override { return !isStopping; }
  bool isReady() const override;
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
  /// `broken` fails, `missing` is in no repository, others become ready; the
  /// contents of a file become the reason in the index.
  void load(const std::string& model, LoadOverrides overrides,
            std::function<void(Status)> then) override;
  /// `stop` stops the server; `needed` cannot be unloaded.
  void unload(const std::string& model, bool dependents,
              std::function<void(Status)> then) override;

private:
  struct Model;
  Expected<const Model*> find(const std::string& name, int64_t version) const;
  void repeat(std::shared_ptr<Inference> inference, int64_t index);
  Status check(const Model& model, const InferRequest& request) const;

  EventLoop& loop;
  std::map<std::string, Model> models;
  bool isStopping = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_TEST_SERVER_KSERVE_FAKEMODELS_H
