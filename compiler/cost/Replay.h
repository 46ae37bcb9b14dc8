// Replays the ops of a function on the streams of a rank: kernels, transfers
// over the links, transfers over the network, and copies between device and
// host.
//
// A collective with a start and a done op overlaps the kernels in between and
// slows them down. Collectives on the same level (links or network) run one
// after another. A collective without a start op blocks the stream of kernels,
// and takes precedence over those that overlap kernels.

#ifndef RECIPEC_COST_REPLAY_H
#define RECIPEC_COST_REPLAY_H

#include "compiler/cost/Collectives.h"
#include "compiler/cost/Kernels.h"
#include "compiler/ir/Ir.h"
#include "runtime/ops/OpKind.h"

#include <map>
#include <string>
#include <vector>

namespace recipec::cost {

enum class Stream { kernels, links, network, host };

/// The time of an op on a stream, in seconds from the start of its function.
struct StreamInterval {
  const ir::Op* op = nullptr;
  Stream stream = Stream::kernels;
  double begin = 0;
  double end = 0;
};

/// One run of a function, in seconds.
struct FunctionRun {
  double seconds = 0;
  double energy = 0; // of arithmetic at the reference clock (Kernels.h)
  std::map<reciperun::ops::OpFamily, double> busy;
  std::map<Work, double> work;
  /// Seconds in which kernels wait for a collective, by the degrees of its
  /// group (`tp`, `dp+cp`); `ep` for an all-to-all of expert rows.
  std::map<std::string, double> exposed;
  double copies = 0; // kernels wait for copies to and from the host
  std::vector<StreamInterval> intervals;

  double communication() const;
};

/// `clock` is relative to the reference clock (Kernels.h). `keepsIntervals`
/// keeps the times of all ops, for a trace.
FunctionRun replay(const ir::Module& program, const ir::Function& function,
                   const Machine& machine, const Kernels& kernels,
                   const Collectives& collectives, double clock,
                   bool keepsIntervals = false);

} // namespace recipec::cost

#endif // RECIPEC_COST_REPLAY_H
