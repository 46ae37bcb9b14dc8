// Mixtures of experts in a Graph: what several passes know of them.

#ifndef RECIPEC_PASSES_EXPERTS_H
#define RECIPEC_PASSES_EXPERTS_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <string_view>

namespace recipec::passes {

/// The dimension of an expert's places, and that of a router's scores, one for
/// each expert. Scores are a dimension of their own, as experts are split over
/// ranks and the router is not.
inline constexpr std::string_view placesDim = "expert_places";
inline constexpr std::string_view scoresDim = "expert_scores";

/// A routing while a Graph is built.
struct Routing {
  ir::ValueId choices = ir::ValueId::none;
  ir::ValueId gates = ir::ValueId::none;
  ir::ValueId rows = ir::ValueId::none; // none before a dispatch
  ir::DimId experts = ir::DimId::none;
  int64_t choicesPerToken = 0;
  int64_t limit = 0; // tokens of a sequence that an expert takes at most
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_EXPERTS_H
