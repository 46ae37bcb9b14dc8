// See Inference.h.

#include "runtime/server/models/Inference.h"

#include <utility>

namespace reciperun::server {

Inference::Inference(InferRequest request, Respond respond)
    : request(std::move(request)), send(std::move(respond)) {}

void Inference::cancel() {
  if (ended || std::exchange(cancelled, true))
    return;
  if (auto then = std::exchange(onCancel, {}))
    then();
}

void Inference::whenCancelled(std::function<void()> then) {
  onCancel = std::move(then);
}

void Inference::respond(InferResponse response) {
  if (ended)
    return;
  ended = response.isLast;
  response.id = request.id;
  send(std::move(response));
  if (ended) { // what they hold is not needed any more
    send = {};
    onCancel = {};
  }
}

void Inference::fail(Status status) {
  respond({.status = std::move(status)});
}

} // namespace reciperun::server
