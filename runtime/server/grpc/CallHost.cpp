// See CallHost.h.

#include "runtime/server/grpc/CallHost.h"

#include "runtime/server/grpc/GrpcStatus.h"

#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

Status stopping() {
  return Status::error("GRPC server is shutting down and has stopped "
                       "accepting new requests.",
                       StatusCode::unavailable);
}

} // namespace

grpc::Status shuttingDown() {
  return grpcStatusOf(stopping());
}

Status CallHost::acceptsRequests() const {
  return drains ? stopping() : Status::ok();
}

bool CallHost::add(std::shared_ptr<OpenCall> call) {
  const std::lock_guard lock(mutex);
  const OpenCall* const key = call.get();
  calls.emplace(key, std::move(call));
  return !refuses;
}

void CallHost::remove(const OpenCall* call) {
  std::shared_ptr<OpenCall> last; // ends it outside of the lock
  const std::lock_guard lock(mutex);
  const auto found = calls.find(call);
  if (found == calls.end())
    return;
  last = std::move(found->second);
  calls.erase(found);
}

void CallHost::abandonAll() {
  std::vector<std::shared_ptr<OpenCall>> all;
  {
    const std::lock_guard lock(mutex);
    refuses = true;
    for (const auto& [key, call] : calls)
      all.push_back(call);
  }
  for (const auto& call : all)
    call->abandon(shuttingDown());
}

std::shared_ptr<void> CallHost::countRequest() {
  ++*requests;
  return {nullptr, [counter = requests](void*) { --*counter; }};
}

} // namespace reciperun::server
