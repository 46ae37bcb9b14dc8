// A collective in two ops, between which others run.

#ifndef RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
#define RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H

#include "compiler/ir/Ir.h"
#include "compiler/passes/common/Names.h"

#include <unordered_map>

namespace recipec::passes {

/// Cuts all_gathers and reduce_scatters in two. Names values of the module for
/// as long as it lives.
class CollectiveHalves {
public:
  explicit CollectiveHalves(ir::Module& program)
      : program(program), names(program) {}

  /// Begins it; what is on its way lies as the larger of its two values does.
  ir::Op start(const ir::Op& collective);
  /// Ends what start() began.
  ir::Op done(const ir::Op& collective) const;

private:
  ir::Module& program;
  Names names;
  std::unordered_map<ir::ValueId, ir::ValueId> underway; // by the result
};

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_COLLECTIVEHALVES_H
