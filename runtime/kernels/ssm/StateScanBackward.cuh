// Shared parts of the kernels of the scan's gradient: the call and the span of
// each launch.

#ifndef RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH
#define RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH

#include "runtime/kernels/ssm/StateScan.cuh"

namespace reciperun::kernels::cuda {

/// The contribution of a head of a sequence to the gradients of its parameters.
struct ParameterSums {
  double aLog, d, dtBias;
};
constexpr int parameters = int(sizeof(ParameterSums) / sizeof(double));

/// The arguments that all launches of a call share. A unit is a group of a
/// sequence; a part is the channels of one block of a unit.
template <class T> struct ScanCall {
  ScanInputs<T> in;
  const T* dy;
  const float* states;
  T *dx, *ddt, *db, *dc;
  int side = 0;      // tokens of a tile, and channels of a block
  int padded = 0;    // numbers of a state, padded to whole column blocks
  int parts = 0;     // of a unit
  int firstUnit = 0; // of the launch
  int tiles = 0;     // per launch, at most
  ParameterSums* sums = nullptr; // [all units, parts]
  float* owed = nullptr;         // [units, parts, channels, padded]
  float* shares = nullptr; // [units, parts, tiles, tokens, 2, state]: db, dc
  float* stepShares = nullptr; // [units, parts, tiles, tokens]: ddt
  bool isAligned = false;      // rows of all inputs, to 16 bytes

  __host__ __device__ int partsOfHead() const { return parts / in.heads; }
  __device__ int64_t shareAt(int unit, int part, int token) const {
    return (int64_t(unit) * parts + part) * tiles * side + token;
  }
};

/// A run of tiles of a chunk.
struct ScanSpan {
  int chunk, firstTile, tiles;
  bool isFirst; // the first span, at the end of the sequence
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH
