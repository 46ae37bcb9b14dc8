// The time of collectives: alpha-beta models (Thakur et al. 2005) of two
// levels, the links within a domain and the network between domains.

#ifndef RECIPEC_COST_COLLECTIVES_H
#define RECIPEC_COST_COLLECTIVES_H

#include "compiler/cost/Kernels.h"
#include "compiler/cost/Machine.h"
#include "compiler/ir/Ir.h"

#include <cstdint>
#include <map>

namespace recipec::cost {

/// The number of ranks in the whole mesh.
int64_t rankCount(const ir::Module& program);

/// The number of ranks in a group, and of those in one domain (`local`).
struct GroupSpan {
  int64_t ranks = 1;
  int64_t local = 1;
  bool isFar() const { return local < ranks; }
};

/// The span of the groups along `axes`, for domains of `linkRanks` ranks.
GroupSpan spanOf(const ir::Module& program, ir::AxisSet axes,
                 int64_t linkRanks);

/// Seconds of an all-gather or reduce-scatter in which the whole value has
/// `bytes`: each rank receives or sends all of it but its own shard. Between
/// domains, each rank's network adapter is part of a ring of its own.
double ringSeconds(const Machine& machine, const GroupSpan& span, double bytes);

/// Seconds of an all-to-all in which each rank sends an equal part of its
/// `bytes` to each rank. Links and network work at the same time.
double exchangeSeconds(const Machine& machine, const GroupSpan& span,
                       double bytes);

/// Seconds of a point-to-point message. `isFar`: over the network.
double messageSeconds(const Machine& machine, bool isFar, double bytes);

/// The time of a Program's collectives. The Program and `kernels` must outlive
/// it.
class Collectives {
public:
  Collectives(const ir::Module& program, const Machine& machine,
              const Kernels& kernels)
      : program(program), machine(machine), kernels(kernels) {}

  /// The seconds of a collective or of its start op.
  double seconds(const ir::Op& op) const;
  /// Whether a collective uses the network between domains.
  bool isFar(const ir::Op& op) const;
  /// Whether messages between this stage and `peer` use the network: some rank
  /// and its counterpart are in different domains.
  bool isFar(int peer) const;

private:
  const GroupSpan& span(ir::AxisSet axes) const;

  const ir::Module& program;
  Machine machine;
  const Kernels& kernels;
  mutable std::map<uint32_t, GroupSpan> spans; // by axes
};

} // namespace recipec::cost

#endif // RECIPEC_COST_COLLECTIVES_H
