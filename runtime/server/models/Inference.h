// A request while it is answered. Belongs to the server's thread.

#ifndef RECIPERUN_SERVER_MODELS_INFERENCE_H
#define RECIPERUN_SERVER_MODELS_INFERENCE_H

#include "runtime/server/models/InferRequest.h"

#include <functional>

namespace reciperun::server {

class Inference {
public:
  using Respond = std::function<void(InferResponse)>;

  Inference(InferRequest request, Respond respond);
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  InferRequest request;

  // ---- of the client's side

  /// The client wants no answer any more. A last response, a failed one with
  /// StatusCode::cancelled unless the model has ended before, still comes.
  void cancel();

  // ---- of the model's side

  /// Sends a response. Those after the last one are dropped.
  void respond(InferResponse response);
  /// Sends a failed last response.
  void fail(Status status);
  bool isCancelled() const { return cancelled; }
  bool hasEnded() const { return ended; }
  /// `then` runs at once when the request is cancelled, unless it has ended.
  void whenCancelled(std::function<void()> then);

private:
  Respond send;
  std::function<void()> onCancel;
  bool cancelled = false, ended = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_INFERENCE_H
