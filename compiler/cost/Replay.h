// Replays the ops of a function on the streams of a rank: kernels, transfers
// over the links, over the network, and between device and host.
//
// A collective that a later op waits for overlaps the kernels in between and
// slows them down. Collectives of a level run one after another. One that
// kernels wait for goes before those that overlap; it is on the stream of
// kernels.

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

/// An op on a stream, in seconds from the start of its function.
struct StreamInterval {
  const ir::Op* op = nullptr;
  Stream stream = Stream::kernels;
  double begin = 0;
  double end = 0;
};

/// One run of a function, in seconds.
struct FunctionRun {
  double seconds = 0;
  double energy = 0; // of arithmetic, at the clock of matmuls alone
  std::map<reciperun::ops::OpFamily, double> busy;
  std::map<Work, double> work;
  /// In which kernels wait for a collective, by the degrees of its group (`tp`,
  /// `dp+cp`), `ep` for rows of experts.
  std::map<std::string, double> exposed;
  double copies = 0; // in which kernels wait for copies to and from the host
  std::vector<StreamInterval> intervals;

  double communication() const;
};

/// At `clock` times that of matmuls alone. `keepsIntervals`: for a trace.
FunctionRun replay(const ir::Module& program, const ir::Function& function,
                   const Machine& machine, const Kernels& kernels,
                   const Collectives& collectives, double clock,
                   bool keepsIntervals = false);

} // namespace recipec::cost

#endif // RECIPEC_COST_REPLAY_H
