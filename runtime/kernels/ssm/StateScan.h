// Shared parts of the state space scan and its gradient: sizes, offsets of
// elements, and time steps. StateScan.cpp has the formulas.

#ifndef RECIPERUN_KERNELS_SSM_STATESCAN_H
#define RECIPERUN_KERNELS_SSM_STATESCAN_H

#include "runtime/kernels/common/Types.h"

#include "runtime/ops/StateSpaceOps.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace reciperun::kernels {

/// log(1 + e^x) without overflow.
template <class M> M softplus(M x) {
  return std::max(x, M(0)) + std::log1p(std::exp(-std::abs(x)));
}

/// The derivative of softplus.
template <class M> M softplusSlope(M x) {
  return M(1) / (M(1) + std::exp(-x));
}

/// One head of one group of one sequence.
struct ScanHead {
  int64_t sequence, group, head;
};

/// The inputs of `state_scan`, from x to the segments, and the offsets of their
/// elements. Channel indices of a group run over all its heads.
template <class T> struct ScanInputs {
  using M = Math<T>;

  ScanInputs(const plan::Op& op, std::span<const device::Tensor> in)
      : x(in[0].as<T>()), dt(in[1].as<T>()), b(in[2].as<T>()), c(in[3].as<T>()),
        aLog(in[4].as<T>()), d(in[5].as<T>()), dtBias(in[6].as<T>()),
        segments(in[7].as<int32_t>()), sequences(in[0].shape[0]),
        tokens(in[0].shape[1]), groups(in[0].shape[2]),
        channels(in[0].shape[3]), heads(in[1].shape[3]), state(in[2].shape[3]),
        chunk(std::min(ops::StateScanAttributes(op.attributes).chunk, tokens)) {
  }

  /// Channels of a head.
  int64_t headWidth() const { return channels / heads; }
  int64_t chunks() const { return (tokens - 1) / chunk + 1; }

  /// The index of a token's group. Each group has its own contiguous channels,
  /// heads and states.
  int64_t row(const ScanHead& at, int64_t token) const {
    return (at.sequence * tokens + token) * groups + at.group;
  }
  int64_t channelAt(const ScanHead& at, int64_t token) const {
    return row(at, token) * channels + at.head * headWidth();
  }
  /// The offset of the states of a head's channels before a chunk.
  int64_t statesAt(const ScanHead& at, int64_t number) const {
    return (((at.sequence * groups + at.group) * chunks() + number) * channels +
            at.head * headWidth()) *
           state;
  }

  bool isFirst(const ScanHead& at, int64_t token) const {
    const int32_t* own = segments + at.sequence * tokens + token;
    return token == 0 || own[-1] != own[0];
  }

  /// The index of a head's parameters, which all tokens share.
  int64_t parameterAt(const ScanHead& at) const {
    return at.group * heads + at.head;
  }
  M rate(const ScanHead& at) const {
    return std::exp(M(aLog[parameterAt(at)]));
  }
  M skip(const ScanHead& at) const { return M(d[parameterAt(at)]); }
  /// The argument of the softplus that gives the step.
  M rawStep(const ScanHead& at, int64_t token) const {
    return M(dt[row(at, token) * heads + at.head]) + M(dtBias[parameterAt(at)]);
  }

  const T *x, *dt, *b, *c, *aLog, *d, *dtBias;
  const int32_t* segments;
  int64_t sequences, tokens, groups, channels, heads, state, chunk;
};

/// to[i] = from[i] in the compute type.
template <class T> void widen(int64_t count, const T* from, Math<T>* to) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    to[i] = Math<T>(from[i]);
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_SSM_STATESCAN_H
