// Counts a model's parameters.

#ifndef RECIPEC_COST_PARAMETERS_H
#define RECIPEC_COST_PARAMETERS_H

#include "compiler/ir/Ir.h"

#include <cstdint>

namespace recipec::cost {

/// The number of parameters of the whole model with its adapter. Shared
/// parameters count once, and the adapters of a server do not count.
struct ParameterCounts {
  int64_t total = 0;
  int64_t trained = 0;
  /// The parameters used for one token: of each layer's experts, only as many
  /// as the router chooses.
  int64_t active = 0;
};

/// Takes a Graph, in which ops read the parameters directly.
ParameterCounts countParameters(const ir::Module& graph);

} // namespace recipec::cost

#endif // RECIPEC_COST_PARAMETERS_H
