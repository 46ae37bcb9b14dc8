// Shared parts of the models that use the engine: a request to the engine for
// each request to the model, from its submission to its end.

#ifndef RECIPERUN_SERVER_BACKENDS_ENGINECALLS_H
#define RECIPERUN_SERVER_BACKENDS_ENGINECALLS_H

#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/models/Backend.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// Progress of a request that has not failed.
using TakeProgress = std::function<void(const serve::Progress&)>;

/// Submits a request to the engine. `take` gets each progress; failures and
/// refusals end `inference`, and its cancellation ends the request.
Ticket submitFor(const std::shared_ptr<Inference>& inference,
                 const ServedEngine& engine, serve::Request request,
                 TakeProgress take);

/// Why the engine cannot answer; ok where it can.
Status healthOf(const ServedEngine& engine);

// Tensors of one request, with a batch dimension where the model has one.

Tensor idsTensor(const std::string& name, std::vector<int64_t> shape,
                 const std::vector<int32_t>& ids);
Tensor floatsTensor(const std::string& name, std::vector<int64_t> shape,
                    const std::vector<float>& values);

/// `shape`, with a batch dimension of 1 where `batches`.
std::vector<int64_t> shapeFor(bool batches, std::vector<int64_t> shape);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_ENGINECALLS_H
