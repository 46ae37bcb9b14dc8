// What the kernels of the scan's gradient share: the call, and what each launch
// of it takes.

#ifndef RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH
#define RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH

#include "runtime/kernels/ssm/StateScan.cuh"

namespace reciperun::kernels::cuda {

/// What a head of a sequence adds to its parameters.
struct ParameterSums {
  double aLog, d, dtBias;
};
constexpr int parameters = int(sizeof(ParameterSums) / sizeof(double));

/// What is the same for all launches of a call. A unit is a group of a
/// sequence, a part the channels of a block of it.
template <class T> struct ScanCall {
  ScanInputs<T> in;
  const T* dy;
  const float* states;
  T *dx, *ddt, *db, *dc;
  int side = 0;      // tokens of a tile, and channels of a block
  int padded = 0;    // numbers of a state, in whole columns of products
  int parts = 0;     // of a unit
  int firstUnit = 0; // of the launch
  int tiles = 0;     // of a launch, at most
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

/// Some tiles of a chunk.
struct ScanSpan {
  int chunk, firstTile, tiles;
  bool isFirst; // from the end of the sequence
};

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_SSM_STATESCANBACKWARD_CUH
