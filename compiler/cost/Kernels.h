// The time of an op that computes or moves data on its device.
//
// A matmul takes its FLOPs at the rate of large matmuls, more where its tiles
// leave multiprocessors idle; attention likewise, by head dimension and keys.
// Both follow the clock. Any op takes at least its traffic at the memory's
// bandwidth, whatever the clock.

#ifndef RECIPEC_COST_KERNELS_H
#define RECIPEC_COST_KERNELS_H

#include "compiler/cost/Machine.h"
#include "compiler/ir/Ir.h"

#include <algorithm>
#include <map>

namespace recipec::cost {

/// What takes an op's time.
enum class Work { matmuls, attention, scans, memory };

/// Seconds of an op. Those of arithmetic are at the clock of matmuls alone.
struct KernelCost {
  double computing = 0; // of arithmetic
  double energy = 0;    // of arithmetic on all multiprocessors without a pause
  double moving = 0;    // of memory traffic
  double launch = 0;
  Work work = Work::memory;

  /// At `clock` times that of matmuls alone.
  double seconds(double clock) const {
    return std::max(computing / clock, moving) + launch;
  }
};

/// Of a matmul [m,k] x [k,n], or of `count` of them in one kernel.
struct MatmulShape {
  double m = 0, n = 0, k = 0;
  double count = 1;
};

/// The speed of a matmul against one with large tiles, all multiprocessors busy
/// and no pause. Tiles run in waves, each tile with a start and an end that
/// take as long as `pause` of k. The best of several tiles counts, and of
/// several parts of k.
double matmulEfficiency(const MatmulShape& shape, double multiprocessors,
                        double pause);

/// FLOP/s of attention / those of large matmuls, for `width` elements of a head
/// (queries and values on average) and queries that each see `keys`.
double attentionEfficiency(double width, double keys, bool isBackward,
                           double exponentials);

/// The ops of a Program, which must outlive it.
class Kernels {
public:
  Kernels(const ir::Module& program, const Machine& machine);

  /// Of an op that is no collective.
  KernelCost costOf(const ir::Op& op) const;

  /// The bytes of a value on a rank. Of rows of experts, those count that hold
  /// tokens, when routers choose experts evenly.
  double usedBytes(ir::ValueId value) const;
  bool hasExpertRows(ir::ValueId value) const;

private:
  void addMatmul(KernelCost& cost, const MatmulShape& shape,
                 bool isNarrow) const;
  void addMatmuls(KernelCost& cost, const ir::Op& op) const;
  void addExperts(KernelCost& cost, const ir::Op& op) const;
  void addAttention(KernelCost& cost, const ir::Op& op) const;

  const ir::Module& program;
  Machine machine;
  /// The fraction of the rows of experts that hold tokens, by the dimension
  /// that counts them.
  std::map<ir::DimId, double> usedRows;
  /// The rows of the busiest rank against the mean. Experts that drop tokens
  /// have no more than their capacity.
  double imbalance;
};

} // namespace recipec::cost

#endif // RECIPEC_COST_KERNELS_H
