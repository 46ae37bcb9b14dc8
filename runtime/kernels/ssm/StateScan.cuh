// Shared parts of the state space scan and its gradient on a GPU: sizes,
// offsets of elements, and time steps. StateScan.cpp has the formulas;
// StateScan.h is the CPU's counterpart.

#ifndef RECIPERUN_KERNELS_SSM_STATESCAN_CUH
#define RECIPERUN_KERNELS_SSM_STATESCAN_CUH

#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/StateSpaceOps.h"
#include "runtime/sizes/KernelLimits.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace reciperun::kernels::cuda {

using sizes::widestState;

/// log(1 + e^x) without overflow, and its derivative.
__device__ inline float softplus(float x) {
  return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}
__device__ inline float slopeOfSoftplus(float x) {
  return 1.0f / (1.0f + expf(-x));
}

/// One head of one group of one sequence.
struct ScanHead {
  int sequence, group, head;
};

/// The inputs of `state_scan`, from x to the segments, and the offsets of their
/// elements. Channel indices of a group run over all its heads. The inputs of
/// `state_scan_step` have positions for segments, and no chunks.
template <class T> struct ScanInputs {
  const T *x, *dt, *b, *c, *aLog, *d, *dtBias;
  const int32_t* segments;
  int sequences, tokens, groups, channels, heads, state, chunk;

  ScanInputs(std::span<const device::Tensor> in, int64_t chunk)
      : x(in[0].as<T>()), dt(in[1].as<T>()), b(in[2].as<T>()), c(in[3].as<T>()),
        aLog(in[4].as<T>()), d(in[5].as<T>()), dtBias(in[6].as<T>()),
        segments(in[7].as<int32_t>()), sequences(int(in[0].shape[0])),
        tokens(int(in[0].shape[1])), groups(int(in[0].shape[2])),
        channels(int(in[0].shape[3])), heads(int(in[1].shape[3])),
        state(int(in[2].shape[3])),
        chunk(int(std::min<int64_t>(chunk, tokens))) {}

  bool isEmpty() const {
    return sequences == 0 || tokens == 0 || channels == 0;
  }

  __host__ __device__ int headWidth() const { return channels / heads; }
  __host__ __device__ int chunks() const { return (tokens - 1) / chunk + 1; }

  /// The index of a token's group.
  __device__ int64_t row(const ScanHead& at, int token) const {
    return (int64_t(at.sequence) * tokens + token) * groups + at.group;
  }
  __device__ int64_t channelAt(const ScanHead& at, int token) const {
    return row(at, token) * channels + at.head * headWidth();
  }
  /// The offset of the states of a head's channels before a chunk.
  __device__ int64_t statesAt(const ScanHead& at, int number) const {
    return (((int64_t(at.sequence) * groups + at.group) * chunks() + number) *
                channels +
            at.head * headWidth()) *
           state;
  }
  __device__ bool isFirst(const ScanHead& at, int token) const {
    const int32_t* own = segments + int64_t(at.sequence) * tokens + token;
    return token == 0 || own[-1] != own[0];
  }

  /// The index of a head's parameters, which all tokens share.
  __device__ int parameterAt(const ScanHead& at) const {
    return at.group * heads + at.head;
  }
  __device__ float rate(const ScanHead& at) const {
    return expf(float(aLog[parameterAt(at)]));
  }
  __device__ float skip(const ScanHead& at) const {
    return float(d[parameterAt(at)]);
  }
  /// The argument of the softplus that gives the step.
  __device__ float rawStep(const ScanHead& at, int token) const {
    return float(dt[row(at, token) * heads + at.head]) +
           float(dtBias[parameterAt(at)]);
  }
};

/// Rejects sizes that the kernels do not support.
template <class T> Status checkScan(const ScanInputs<T>& in) {
  if (in.state > widestState)
    return Status::error("state spaces on GPUs take states of up to " +
                         std::to_string(widestState) + " numbers, not of " +
                         std::to_string(in.state));
  return Status::ok();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_SSM_STATESCAN_CUH
