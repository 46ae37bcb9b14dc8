// The time of an op that computes or moves data on its device.
//
// A matmul runs its FLOPs at the rate of large matmuls, or slower where its
// tiles leave multiprocessors idle. The rate of attention depends on the head
// dimension and on the number of keys. Both scale with the clock. Each op takes
// at least the time of its memory traffic, which does not depend on the clock.

#ifndef RECIPEC_COST_KERNELS_H
#define RECIPEC_COST_KERNELS_H

#include "compiler/cost/Machine.h"
#include "compiler/ir/Ir.h"

#include <algorithm>
#include <map>

namespace recipec::cost {

/// What determines an op's time.
enum class Work { matmuls, attention, scans, memory };

/// The seconds of an op. Arithmetic is at the reference clock, at which a step
/// of matmuls alone runs.
struct KernelCost {
  double computing = 0; // of arithmetic
  double energy = 0;    // of arithmetic if all multiprocessors were always busy
  double moving = 0;    // of memory traffic
  double launch = 0;
  Work work = Work::memory;

  /// `clock` is relative to the reference clock.
  double seconds(double clock) const {
    return std::max(computing / clock, moving) + launch;
  }
};

/// A matmul [m,k] x [k,n], or `count` of them in one kernel.
struct MatmulShape {
  double m = 0, n = 0, k = 0;
  double count = 1;
};

/// The speed of a matmul relative to one with large tiles that keep all
/// multiprocessors busy without pauses. Tiles run in waves. The prologue and
/// epilogue of a tile take as long as `pause` elements of k. The result is for
/// the fastest of several tile sizes and of several splits of k.
double matmulEfficiency(const MatmulShape& shape, double multiprocessors,
                        double pause);

/// The FLOP/s of attention relative to large matmuls. `width` is the average
/// number of elements of a query's and a value's head, and `keys` the number of
/// keys that each query attends to.
double attentionEfficiency(double width, double keys, bool isBackward,
                           double exponentials);

/// The time of a Program's ops. The Program must outlive it.
class Kernels {
public:
  Kernels(const ir::Module& program, const Machine& machine);

  /// The cost of an op that is not a collective.
  KernelCost costOf(const ir::Op& op) const;

  /// The bytes of a value on a rank. Of expert rows, only those with tokens
  /// count, assuming that routers choose experts evenly.
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
  /// The fraction of expert rows that hold tokens, by the dimension that counts
  /// the rows.
  std::map<ir::DimId, double> usedRows;
  /// The load of the busiest rank relative to the mean. Experts that drop
  /// tokens get no more than their capacity.
  double imbalance;
};

} // namespace recipec::cost

#endif // RECIPEC_COST_KERNELS_H
