// Mixtures of experts in a Graph: definitions shared by several passes.

#ifndef RECIPEC_PASSES_BUILD_EXPERTROUTING_H
#define RECIPEC_PASSES_BUILD_EXPERTROUTING_H

#include "compiler/ir/Ir.h"

#include <cstdint>
#include <map>
#include <string_view>

namespace recipec::passes {

/// Rows of experts are [groups, places, width]. A group holds the experts of
/// one rank of `ep`. Places are the rows that the group receives, in one block
/// for each rank with its own tokens. Counts [groups, blocks, members] are the
/// rows of a block for each member of a group. Router scores have a dimension
/// of their own: experts are split over ranks and the router is not.
inline constexpr std::string_view groupsDim = "expert_groups";
inline constexpr std::string_view placesDim = "expert_places";
inline constexpr std::string_view blocksDim = "expert_blocks";
inline constexpr std::string_view packedDim = "expert_rows";
/// The rows of a second pass, beyond the capacity of the first.
inline constexpr std::string_view secondPassDim = "expert_second_rows";
inline constexpr std::string_view membersDim = "expert_members";
inline constexpr std::string_view scoresDim = "expert_scores";

/// A routing, while a Graph is built.
struct Routing {
  ir::ValueId choices = ir::ValueId::none;
  ir::ValueId gates = ir::ValueId::none;
  ir::ValueId rows = ir::ValueId::none; // `none` before a dispatch
  ir::ValueId counts = ir::ValueId::none;
  ir::ValueId sent = ir::ValueId::none; // dispatch counts, if packed
  ir::DimId places = ir::DimId::none;
  /// Maps values of the first pass to those of the second, starting with the
  /// packed rows and their counts. Empty without a second pass.
  std::map<ir::ValueId, ir::ValueId> secondPass;
  ir::DimId packed = ir::DimId::none;     // rows of the first pass
  ir::DimId secondRows = ir::DimId::none; // rows of the second pass
  ir::DimId experts = ir::DimId::none;
  int64_t choicesPerToken = 0;
  /// The most tokens of a sequence that an expert takes, in one pass and in
  /// all.
  int64_t passLimit = 0, limit = 0;
  bool hasSecondPass = false; // for rows beyond the capacity
  /// The average fraction of rows that hold tokens, in the first and second
  /// pass.
  double used = 1, usedAgain = 0;
};

/// The most rows of one block: the rows that `tokens` tokens of each of
/// `samples` sequences can send to the `members` experts of a group, when each
/// expert takes at most `limit` tokens of a sequence and each token has
/// `choices` experts.
int64_t blockRows(int64_t samples, int64_t tokens, int64_t choices,
                  int64_t limit, int64_t members);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_EXPERTROUTING_H
