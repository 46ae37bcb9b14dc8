// The time of collectives: alpha-beta models (Thakur et al. 2005) over two
// levels, the links of a domain and the network between domains.

#ifndef RECIPEC_COST_COLLECTIVES_H
#define RECIPEC_COST_COLLECTIVES_H

#include "compiler/cost/Kernels.h"
#include "compiler/cost/Machine.h"
#include "compiler/ir/Ir.h"

#include <cstdint>
#include <map>

namespace recipec::cost {

/// The ranks of the whole mesh.
int64_t rankCount(const ir::Module& program);

/// The ranks of a group, of which `local` each are in one domain.
struct GroupSpan {
  int64_t ranks = 1;
  int64_t local = 1;
  bool isFar() const { return local < ranks; }
};

/// Of the groups along `axes`, for domains of `linkRanks` consecutive ranks.
GroupSpan spanOf(const ir::Module& program, ir::AxisSet axes,
                 int64_t linkRanks);

/// Seconds in which each rank of the group receives or sends all but its own of
/// `bytes`, the size of the whole: an all-gather or a reduce-scatter. A ring of
/// each rank's network adapter leads through the domains.
double ringSeconds(const Machine& machine, const GroupSpan& span, double bytes);

/// Seconds in which each rank sends an equal part of its `bytes` to each rank.
/// Both levels work at the same time.
double exchangeSeconds(const Machine& machine, const GroupSpan& span,
                       double bytes);

/// Seconds of a message to another rank.
double messageSeconds(const Machine& machine, bool isFar, double bytes);

/// The collectives of a Program, which must outlive it, as must `kernels`.
class Collectives {
public:
  Collectives(const ir::Module& program, const Machine& machine,
              const Kernels& kernels)
      : program(program), machine(machine), kernels(kernels) {}

  /// Of a collective that starts or is complete.
  double seconds(const ir::Op& op) const;
  /// Whether it leaves the domain.
  bool isFar(const ir::Op& op) const;
  /// Between this stage and `peer`: whether any rank's message leaves the
  /// domain.
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
