// Decides how ranks communicate.

#ifndef RECIPEC_PASSES_DISTRIBUTED_CONNECT_H
#define RECIPEC_PASSES_DISTRIBUTED_CONNECT_H

#include "compiler/ir/Connections.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <optional>
#include <vector>

namespace recipec::passes {

/// The connections of the Programs of all stages, for GPUs of the recipe's
/// cluster. Returns nullopt for other devices and for a single rank. Runs after
/// all passes that add or move collectives.
std::optional<ir::Connections> connect(const std::vector<ir::Module>& stages,
                                       const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_CONNECT_H
