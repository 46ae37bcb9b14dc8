// Parameters of which ranks keep parts, and which travel in 8 bits: each rank
// casts its own part once a step, and what is gathered is what products read.

#ifndef RECIPEC_PASSES_PRECISION_GATHERINFP8_H
#define RECIPEC_PASSES_PRECISION_GATHERINFP8_H

#include "compiler/ir/Ir.h"

#include <set>
#include <vector>

namespace recipec::passes {

/// The parameters, by value, that nothing reads but what makes them a matrix in
/// 8 bits with one scale, in the function that it is read in.
std::set<ir::ValueId> findGatheredInFp8(const ir::Module& program);

/// A member of a region that has a part in 8 bits, and its scale.
struct Fp8Member {
  const ir::Region* region;
  int64_t start; // in the region
  ir::ParamId param;
  ir::ValueId scale;
};

/// Makes the parts and the scales in each step, or once a run where they are of
/// frozen parameters, and before each evaluation.
void castShards(ir::Module& program, const std::vector<Fp8Member>& members);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_PRECISION_GATHERINFP8_H
