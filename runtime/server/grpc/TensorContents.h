// The elements of an input that a request has in the fields of their types.

#ifndef RECIPERUN_SERVER_GRPC_TENSORCONTENTS_H
#define RECIPERUN_SERVER_GRPC_TENSORCONTENTS_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/InferMessages.h"

#include <string>

namespace reciperun::server {

/// The elements of `input`, which has contents, in the form of Tensor::data.
/// Fails, with Triton's texts, where they are not in the field of the input's
/// datatype; and for an element of INT8, INT16, UINT8 or UINT16 that is out of
/// its range.
Expected<std::string> readContents(const InputMessage& input,
                                   const std::string& model);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_TENSORCONTENTS_H
