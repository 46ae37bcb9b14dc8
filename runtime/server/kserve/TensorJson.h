// The elements of tensors in JSON: the field `data` of inputs and outputs.

#ifndef RECIPERUN_SERVER_KSERVE_TENSORJSON_H
#define RECIPERUN_SERVER_KSERVE_TENSORJSON_H

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/RequestJson.h"
#include "runtime/server/models/Tensor.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace reciperun::server {

/// The bytes of the strings in `data`, as a tensor of BYTES holds them. Fails
/// where an element is no string.
Expected<size_t> bytesOfStrings(const JsonElements& data);

/// The elements of `data` as a tensor's bytes. Fails with Triton's texts where
/// they are not `elements` (of BYTES: any number), of another type or nested
/// too deep; an integer outside of the range of `type` is a failure, too. FP16
/// and BF16 have no form in JSON. `input` names the tensor in messages.
Expected<std::string> readElements(const std::string& input,
                                   const JsonElements& data, DataType type,
                                   int64_t elements);

/// Writes the elements of an output as a flat array. Fails for FP16 and BF16,
/// and where the data does not have the elements of the shape.
Status writeElements(JsonWriter& writer, const Tensor& output);
/// Writes the element itself where there is one.
Status writeElementsOrScalar(JsonWriter& writer, const Tensor& output);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_TENSORJSON_H
