// How many numbers a model consists of.

#ifndef RECIPEC_COST_PARAMETERS_H
#define RECIPEC_COST_PARAMETERS_H

#include "compiler/ir/Ir.h"

#include <cstdint>

namespace recipec::cost {

/// Of the whole model, its adapter included; what layers share counts once.
struct ParameterCounts {
  int64_t total = 0;
  int64_t trained = 0;
  /// Those that one token is computed with: of a layer's experts as many as the
  /// router chooses.
  int64_t active = 0;
};

/// Of a Graph, whose ops read parameters as they are.
ParameterCounts countParameters(const ir::Module& graph);

} // namespace recipec::cost

#endif // RECIPEC_COST_PARAMETERS_H
