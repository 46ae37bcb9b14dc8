// Failures as gRPC reports them.

#ifndef RECIPERUN_SERVER_GRPC_GRPCSTATUS_H
#define RECIPERUN_SERVER_GRPC_GRPCSTATUS_H

#include "runtime/base/Status.h"

#include <grpcpp/support/status.h>

namespace reciperun::server {

/// The status with the code that Triton gives to its kind of failure.
grpc::Status grpcStatusOf(const Status& status);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_GRPCSTATUS_H
