// See EngineCalls.h.

#include "runtime/server/backends/EngineCalls.h"

#include <utility>

namespace reciperun::server {

using serve::FinishReason;

Ticket submitFor(const std::shared_ptr<Inference>& inference,
                 const ServedEngine& engine, serve::Request request,
                 TakeProgress take) {
  const Ticket ticket = engine.client.submit(
      std::move(request),
      [inference, take = std::move(take)](const EngineUpdate& update) {
        if (!update.refusal.isOk())
          inference->fail(Status::error(update.refusal.message(),
                                        StatusCode::invalidArgument));
        else if (update.progress.finished == FinishReason::failed)
          inference->fail(Status::error(update.progress.error));
        else if (update.progress.finished == FinishReason::cancelled)
          inference->fail(Status::error("Request has been cancelled",
                                        StatusCode::cancelled));
        else
          take(update.progress);
      });
  inference->whenCancelled([&client = engine.client, ticket] {
    client.cancel(ticket, FinishReason::cancelled);
  });
  return ticket;
}

Status healthOf(const ServedEngine& engine) {
  return engine.client.health();
}

Tensor idsTensor(const std::string& name, std::vector<int64_t> shape,
                 const std::vector<int32_t>& ids) {
  return {.name = name,
          .type = DataType::int32,
          .shape = std::move(shape),
          .data = {reinterpret_cast<const char*>(ids.data()),
                   ids.size() * sizeof(int32_t)}};
}

Tensor floatsTensor(const std::string& name, std::vector<int64_t> shape,
                    const std::vector<float>& values) {
  return {.name = name,
          .type = DataType::fp32,
          .shape = std::move(shape),
          .data = {reinterpret_cast<const char*>(values.data()),
                   values.size() * sizeof(float)}};
}

std::vector<int64_t> shapeFor(bool batches, std::vector<int64_t> shape) {
  if (batches)
    shape.insert(shape.begin(), 1);
  return shape;
}

} // namespace reciperun::server
