// Splits a collective into a start op and a done op, so that it overlaps the
// ops in between.

#ifndef RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
#define RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H

#include "compiler/ir/Ir.h"
#include "compiler/passes/ValueNames.h"

#include <unordered_map>

namespace recipec::passes {

/// Splits all_gathers, reduce_scatters and all_to_alls in two. As long as the
/// object lives, only it may name new values of the module.
class CollectiveHalves {
public:
  explicit CollectiveHalves(ir::Module& program)
      : program(program), names(program) {}

  /// Returns the start op. Its result, the value in flight, has the layout of
  /// the larger of the collective's operand and result.
  ir::Op start(const ir::Op& collective);
  /// Returns the done op of a collective that start() has split.
  ir::Op done(const ir::Op& collective) const;

private:
  ir::Module& program;
  ValueNames names;
  /// Values in flight, by the collective's result.
  std::unordered_map<ir::ValueId, ir::ValueId> underway;
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
