// See GrpcStatus.h.

#include "runtime/server/grpc/GrpcStatus.h"

namespace reciperun::server {
namespace {

grpc::StatusCode grpcCodeOf(StatusCode code) {
  switch (code) {
  case StatusCode::internal:
    return grpc::StatusCode::INTERNAL;
  case StatusCode::invalidArgument:
    return grpc::StatusCode::INVALID_ARGUMENT;
  case StatusCode::notFound:
    return grpc::StatusCode::NOT_FOUND;
  case StatusCode::alreadyExists:
    return grpc::StatusCode::ALREADY_EXISTS;
  case StatusCode::unavailable:
    return grpc::StatusCode::UNAVAILABLE;
  case StatusCode::unsupported:
    return grpc::StatusCode::UNIMPLEMENTED;
  case StatusCode::cancelled:
    return grpc::StatusCode::CANCELLED;
  case StatusCode::unknown:
    break;
  }
  return grpc::StatusCode::UNKNOWN;
}

} // namespace

grpc::Status grpcStatusOf(const Status& status) {
  return status.isOk()
             ? grpc::Status::OK
             : grpc::Status(grpcCodeOf(status.code()), status.message());
}

} // namespace reciperun::server
