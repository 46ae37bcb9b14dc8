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
/// elements. Channel indices of a group run over all its heads. The inputs of
/// `state_scan_step` have positions for segments, and no chunks.
template <class T> struct ScanInputs {
  using M = Math<T>;

  ScanInputs(std::span<const device::Tensor> in, int64_t chunk)
      : x(in[0].as<T>()), dt(in[1].as<T>()), b(in[2].as<T>()), c(in[3].as<T>()),
        aLog(in[4].as<T>()), d(in[5].as<T>()), dtBias(in[6].as<T>()),
        segments(in[7].as<int32_t>()), sequences(in[0].shape[0]),
        tokens(in[0].shape[1]), groups(in[0].shape[2]),
        channels(in[0].shape[3]), heads(in[1].shape[3]), state(in[2].shape[3]),
        chunk(std::min(chunk, tokens)) {}

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

/// Advances the states of one head, token by token.
template <class T> class HeadScan {
public:
  using M = Math<T>;

  /// The elements of M that the constructor takes as `room`.
  static size_t room(const ScanInputs<T>& in) { return size_t(2 * in.state); }

  HeadScan(const ScanInputs<T>& in, const ScanHead& at, M* room)
      : in(in), at(at), b(room), c(room + in.state), rate(in.rate(at)),
        skip(in.skip(at)) {}

  /// Advances `states` [head width, n] to `token` and writes its y, of the
  /// layout of x, unless `y` is null.
  void advance(int64_t token, M* states, T* y) const {
    const int64_t n = in.state;
    widen(n, in.b + in.row(at, token) * n, b);
    widen(n, in.c + in.row(at, token) * n, c);
    const M step = softplus(in.rawStep(at, token));
    const M decay = std::exp(-rate * step);
    const T* x = in.x + in.channelAt(at, token);
    for (int64_t p = 0; p < in.headWidth(); ++p) {
      const M sum = advanceChannel(decay, step * M(x[p]), states + p * n);
      if (y)
        y[in.channelAt(at, token) + p] = T(sum + skip * M(x[p]));
    }
  }

private:
  /// Advances one channel's state. Returns S . c.
  M advanceChannel(M decay, M input, M* state) const {
    M sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < in.state; ++i) {
      state[i] = decay * state[i] + input * b[i];
      sum += state[i] * c[i];
    }
    return sum;
  }

  const ScanInputs<T>& in;
  const ScanHead at;
  M *const b, *const c; // [n], of the current token
  const M rate, skip;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_SSM_STATESCAN_H
