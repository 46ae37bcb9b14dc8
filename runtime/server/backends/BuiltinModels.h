// Models without weights, for trying clients and for tests.

#ifndef RECIPERUN_SERVER_BACKENDS_BUILTINMODELS_H
#define RECIPERUN_SERVER_BACKENDS_BUILTINMODELS_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Backend.h"

#include <memory>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

/// `add_sub`: the first output is the sum of two inputs, the second their
/// difference. Integers wrap around. Inputs and outputs have one type, of
/// numbers but FP16 and BF16, and one shape. A state of a sequence may be the
/// second input, and the sum its next value. Fails for other configurations.
Expected<std::unique_ptr<BatchBackend>>
makeAddSub(const inference::ModelConfig& config);

/// `identity`: each output is the input at its place, of any type and shape.
/// The parameter `execute_delay_ms` makes each batch take so long. Fails where
/// an output has another type than its input.
Expected<std::unique_ptr<BatchBackend>>
makeIdentity(const inference::ModelConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_BUILTINMODELS_H
