// A convolution of each channel along its sequence. A token sees itself and the
// k - 1 tokens before it, but only tokens of its own document.
//   y_t  = sum over i < k of w[i] x_{t-k+1+i}
//   dx_t = sum over i < k of w[i] dy_{t+k-1-i}   in the other direction
//   dw[i] = sum over t of dy_t x_{t-k+1+i}
//
// The kernels work on tiles of channels, which are contiguous for a token. One
// thread owns a tile of dw and sums the tokens piece by piece, so the number of
// threads does not change the result.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

constexpr int64_t tileChannels = 64;
constexpr int64_t tileTokens = 256;

int64_t tilesOf(int64_t count, int64_t tile) {
  return (count + tile - 1) / tile;
}

/// x [sequences, tokens, channels] and w [channels, taps].
struct Sizes {
  Sizes(const Tensor& x, const Tensor& w)
      : sequences(x.shape[0]), tokens(x.shape[1]),
        channels(x.elements() / (sequences * tokens)), taps(w.shape.back()) {}

  int64_t at(int64_t sequence, int64_t token, int64_t channel) const {
    return (sequence * tokens + token) * channels + channel;
  }

  int64_t sequences, tokens, channels, taps;
};

/// A range of tokens of a sequence and a range of their channels.
struct Tile {
  Tile(const Sizes& sizes, int64_t number) {
    const int64_t across = tilesOf(sizes.channels, tileChannels);
    const int64_t down = tilesOf(sizes.tokens, tileTokens);
    sequence = number / across / down;
    begin = number / across % down * tileTokens;
    end = std::min(begin + tileTokens, sizes.tokens);
    channel = number % across * tileChannels;
    width = std::min(tileChannels, sizes.channels - channel);
  }

  static int64_t count(const Sizes& sizes) {
    return sizes.sequences * tilesOf(sizes.tokens, tileTokens) *
           tilesOf(sizes.channels, tileChannels);
  }

  int64_t sequence, begin, end, channel, width;
};

/// The segments of one sequence.
struct Documents {
  const int32_t* segments;
  int64_t tokens;

  /// The number of tokens before `token` (side -1) or after it (1), at most
  /// `most`, that belong to its document.
  int64_t reach(int64_t token, int side, int64_t most) const {
    most = std::min(most, side < 0 ? token : tokens - 1 - token);
    int64_t count = 0;
    while (count < most &&
           segments[token + side * (count + 1)] == segments[token])
      ++count;
    return count;
  }
};

/// One tile of to_t = the sum over i of w[k-1-i] from_{t + side i}. `weights`
/// is a buffer of [taps, tileChannels].
template <class T>
void convolve(const Sizes& sizes, const Tile& tile, const Documents& documents,
              int side, const T* w, const T* from, T* to, Math<T>* weights) {
  using M = Math<T>;
  const int64_t taps = sizes.taps, width = tile.width;
  for (int64_t j = 0; j < width; ++j)
    for (int64_t i = 0; i < taps; ++i)
      weights[i * tileChannels + j] =
          M(w[(tile.channel + j) * taps + taps - 1 - i]);
  for (int64_t t = tile.begin; t < tile.end; ++t) {
    const int64_t reach = documents.reach(t, side, taps - 1);
    M sum[tileChannels] = {};
    for (int64_t i = 0; i <= reach; ++i) {
      const T* row = from + sizes.at(tile.sequence, t + side * i, tile.channel);
      const M* weight = weights + i * tileChannels;
#pragma omp simd
      for (int64_t j = 0; j < width; ++j)
        sum[j] += weight[j] * M(row[j]);
    }
    T* out = to + sizes.at(tile.sequence, t, tile.channel);
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      out[j] = T(sum[j]);
  }
}

template <class T>
void convolveAll(const KernelArgs& args, const Tensor& from, const Tensor& w,
                 const Tensor& segments, int side, const Tensor& to) {
  const Sizes sizes(from, w);
  device::parallelItems(
      args.context.threads(), Tile::count(sizes),
      [&](int64_t item, int thread) {
        const Tile tile(sizes, item);
        convolve(
            sizes, tile,
            {segments.as<int32_t>() + tile.sequence * sizes.tokens,
             sizes.tokens},
            side, w.as<T>(), from.as<T>(), to.as<T>(),
            args.context.scratch<Math<T>>(thread, sizes.taps * tileChannels));
      });
}

/// sum [taps, tileChannels] += the products of one tile, by distance.
template <class T>
void correlate(const Sizes& sizes, const Tile& tile, const Documents& documents,
               const T* dy, const T* x, Math<T>* sum) {
  using M = Math<T>;
  for (int64_t t = tile.begin; t < tile.end; ++t) {
    const int64_t reach = documents.reach(t, -1, sizes.taps - 1);
    const T* slope = dy + sizes.at(tile.sequence, t, tile.channel);
    for (int64_t i = 0; i <= reach; ++i) {
      const T* row = x + sizes.at(tile.sequence, t - i, tile.channel);
      M* to = sum + i * tileChannels;
#pragma omp simd
      for (int64_t j = 0; j < tile.width; ++j)
        to[j] += M(slope[j]) * M(row[j]);
    }
  }
}

/// Adds dw of the channels of tile number `across` once. `room` holds two sums
/// of [taps, tileChannels].
template <class T, class G>
void addWeightTile(const Sizes& sizes, int64_t across, const int32_t* segments,
                   const T* dy, const T* x, G* dw, Math<T>* room) {
  using M = Math<T>;
  const int64_t stride = tilesOf(sizes.channels, tileChannels);
  const int64_t size = sizes.taps * tileChannels;
  M *total = room, *part = room + size;
  std::fill_n(total, size, M(0));
  for (int64_t number = across; number < Tile::count(sizes); number += stride) {
    const Tile tile(sizes, number);
    std::fill_n(part, size, M(0));
    correlate(sizes, tile,
              {segments + tile.sequence * sizes.tokens, sizes.tokens}, dy, x,
              part);
#pragma omp simd
    for (int64_t j = 0; j < size; ++j)
      total[j] += part[j];
  }
  const Tile first(sizes, across);
  for (int64_t j = 0; j < first.width; ++j)
    for (int64_t i = 0; i < sizes.taps; ++i) {
      G& to = dw[(first.channel + j) * sizes.taps + sizes.taps - 1 - i];
      to = G(M(to) + total[i * tileChannels + j]);
    }
}

template <class T>
void addWeights(const KernelArgs& args, const Tensor& dy, const Tensor& x,
                const Tensor& segments, const Tensor& dw) {
  const Sizes sizes(x, dw);
  withStored<Math<T>>(dw.type, [&]<class G>(Type<G>) {
    device::parallelItems(
        args.context.threads(), tilesOf(sizes.channels, tileChannels),
        [&](int64_t across, int thread) {
          addWeightTile(sizes, across, segments.as<int32_t>(), dy.as<T>(),
                        x.as<T>(), dw.as<G>(),
                        args.context.scratch<Math<T>>(
                            thread, 2 * sizes.taps * tileChannels));
        });
  });
}

} // namespace

Status causalConvKernel(const KernelArgs& args) {
  const auto& in = args.inputs;
  return withType(args, in[0].type, [&]<class T>(Type<T>) {
    convolveAll<T>(args, in[0], in[1], in[2], -1, args.outputs[0]);
  });
}

Status causalConvBackwardKernel(const KernelArgs& args) {
  const auto& in = args.inputs;
  const Tensor &dx = args.outputs[0], &dw = args.outputs[1];
  return withType(args, in[0].type, [&]<class T>(Type<T>) {
    if (dw.present())
      addWeights<T>(args, in[0], in[1], in[3], dw);
    if (dx.present())
      convolveAll<T>(args, in[0], in[2], in[3], 1, dx);
  });
}

} // namespace reciperun::kernels
