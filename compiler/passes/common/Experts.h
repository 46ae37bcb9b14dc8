// Mixtures of experts in a Graph: what several passes know of them.

#ifndef RECIPEC_PASSES_COMMON_EXPERTS_H
#define RECIPEC_PASSES_COMMON_EXPERTS_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace recipec::passes {

/// Rows of experts are [groups, places, width]: a group are the experts of one
/// rank of `ep`, places the rows that ranks with tokens of their own send it,
/// each a block of them. How many rows of a block each member of a group has
/// are counts [groups, blocks, members]. The scores of a router, one for each
/// expert, are a dimension of their own, as experts are split over ranks and
/// the router is not.
inline constexpr std::string_view groupsDim = "expert_groups";
inline constexpr std::string_view placesDim = "expert_places";
inline constexpr std::string_view blocksDim = "expert_blocks";
inline constexpr std::string_view packedDim = "expert_rows";
/// The rows that a second pass takes of those that the first has no place for.
inline constexpr std::string_view secondPassDim = "expert_second_rows";
inline constexpr std::string_view membersDim = "expert_members";
inline constexpr std::string_view scoresDim = "expert_scores";

/// A routing while a Graph is built.
struct Routing {
  ir::ValueId choices = ir::ValueId::none;
  ir::ValueId gates = ir::ValueId::none;
  ir::ValueId rows = ir::ValueId::none; // none before a dispatch
  ir::ValueId counts = ir::ValueId::none;
  ir::ValueId sent = ir::ValueId::none; // counts behind the dispatch, where
                                        // rows are packed behind it
  ir::DimId places = ir::DimId::none;
  /// What the second pass makes in place of what the first made; the packed
  /// rows and their counts at first. Empty without a second pass.
  std::map<ir::ValueId, ir::ValueId> secondPass;
  ir::DimId packed = ir::DimId::none;     // places of the first pass
  ir::DimId secondRows = ir::DimId::none; // and of the second
  ir::DimId experts = ir::DimId::none;
  int64_t choicesPerToken = 0;
  /// Tokens of a sequence that an expert takes at most, in one pass and in all.
  int64_t passLimit = 0, limit = 0;
  bool hasSecondPass = false; // what is beyond a bound takes one
  /// Of its rows those that tokens take on average, and of a second pass's.
  double used = 1, usedAgain = 0;
};

/// The most rows of one block: what `tokens` of each of `samples` sequences can
/// ask of the `members` of a group, of which each takes at most `limit` tokens
/// of a sequence and each token `choices`.
int64_t blockRows(int64_t samples, int64_t tokens, int64_t choices,
                  int64_t limit, int64_t members);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_COMMON_EXPERTS_H
