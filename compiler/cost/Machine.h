// The figures that a device and its network sustain during training.

#ifndef RECIPEC_COST_MACHINE_H
#define RECIPEC_COST_MACHINE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>

namespace recipec::cost {

/// A level of the interconnect: the links or the network.
struct Level {
  double bandwidth = 0; // bytes/s of a rank, one way
  double latency = 0;   // seconds of a message
};

struct Machine {
  bool isGpu = false;
  double matmul = 0;          // FLOP/s of large matmuls in the compute type
  double narrowMatmul = 0;    // FLOP/s of large fp8 matmuls; 0 without fp8
  double multiprocessors = 1; // that share the tiles of a matmul
  /// The device's ratio of exponentials to FLOPs of matmuls, relative to an
  /// H100's.
  double exponentials = 1;
  double bandwidth = 0;  // bytes/s of memory-bound ops
  double launch = 0;     // seconds between two ops
  double mostBoost = 1;  // highest clock / reference clock (Kernels.h)
  Level link;            // between the ranks of a domain
  int64_t linkRanks = 1; // consecutive ranks of a domain
  Level network;         // to the ranks of other domains
  double host = 0;       // bytes/s to the host's memory, one way
};

/// The machine of the recipe's `cluster`, for the Program's compute type.
/// Figures that `cluster.hardware` lacks are the fractions of the data sheet
/// that an H200 reaches.
Machine machineOf(const ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::cost

#endif // RECIPEC_COST_MACHINE_H
