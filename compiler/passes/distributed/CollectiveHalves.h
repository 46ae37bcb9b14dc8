// Splits a collective into a start and a done op, with others in between.

#ifndef RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
#define RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H

#include "compiler/ir/Ir.h"
#include "compiler/passes/ValueNames.h"

#include <unordered_map>

namespace recipec::passes {

/// Splits all_gathers and reduce_scatters in two. While the object lives, it
/// names new values of the module.
class CollectiveHalves {
public:
  explicit CollectiveHalves(ir::Module& program)
      : program(program), names(program) {}

  /// Starts the collective. The value in flight has the layout of the
  /// collective's larger value.
  ir::Op start(const ir::Op& collective);
  /// Completes the collective of start().
  ir::Op done(const ir::Op& collective) const;

private:
  ir::Module& program;
  ValueNames names;
  std::unordered_map<ir::ValueId, ir::ValueId> underway; // by result
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
