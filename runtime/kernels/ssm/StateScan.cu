// The state space of Mamba 2, token by token, on a GPU; StateScan.cpp has the
// formulas.
//
// A channel's state is in the registers of neighbouring lanes, 16 numbers per
// lane, as interleaved groups of four. A block processes some channels of a
// head of a sequence:
//   1. It writes the tokens of a tile to shared memory: b and c (prefetched
//      into registers), x, and the step and decay of each token.
//   2. Token by token, each lane advances its numbers and sums their part of y;
//      the channel's lanes then reduce y.
//   3. It stores the state before each chunk for the gradient.
// Either y or the states may be left out.

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/ssm/StateScan.cuh"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using namespace cuda;

constexpr int threads = 128;
constexpr int tileTokens = 16;
static_assert(tileTokens * sizeof(bool) == sizeof(uint4));
/// The groups of four numbers of a state per lane.
constexpr int fours = 4;

/// The assignment of a block's threads.
struct Layout {
  int lanes;      // per channel: a power of two up to 32
  int channels;   // per block
  int padded;     // the numbers of a state that the lanes can hold
  bool isAligned; // accesses move four numbers of a state

  int sharedBytes() const {
    return tileTokens * (2 * padded + 2 * channels + 2) * int(sizeof(float)) +
           tileTokens * int(sizeof(bool));
  }
};

Layout layoutFor(int state, int headWidth, const float* states) {
  Layout layout;
  layout.lanes = 1;
  while (layout.lanes * fours * 4 < state)
    layout.lanes *= 2;
  layout.channels = std::min(threads / layout.lanes, headWidth);
  layout.padded = layout.lanes * fours * 4;
  layout.isAligned = state % 4 == 0 && areAligned(16, states);
  return layout;
}

/// A tile of tokens in shared memory.
struct Tile {
  float *b, *c; // [tokens, padded]
  float *x, *y; // [tokens, channels]
  float *step, *decay;
  bool* isFirst; // 16 bytes

  __device__ Tile(float* shared, const Layout& layout)
      : b(shared), c(b + tileTokens * layout.padded),
        x(c + tileTokens * layout.padded), y(x + tileTokens * layout.channels),
        step(y + tileTokens * layout.channels), decay(step + tileTokens),
        isFirst(reinterpret_cast<bool*>(decay + tileTokens)) {}
};

/// `hasY`: computes y, too.
template <class T, bool isAligned, bool hasY> class Block {
public:
  __device__ Block(const ScanInputs<T>& in, const Layout& layout, float* shared)
      : in(in), layout(layout),
        tile(shared, layout), at{int(blockIdx.z), int(blockIdx.y) / in.heads,
                                 int(blockIdx.y) % in.heads},
        first(int(blockIdx.x) * layout.channels),
        count(min(layout.channels, in.headWidth() - first)),
        channel(int(threadIdx.x) / layout.lanes),
        lane(int(threadIdx.x) % layout.lanes), rate(in.rate(at)),
        skip(in.skip(at)) {}

  __device__ void run(T* y, float* states) {
    int chunk = 0, nextChunk = 0;
    fetch(0);
    for (int begin = 0; begin < in.tokens; begin += tileTokens) {
      const int tokens = min(tileTokens, in.tokens - begin);
      __syncthreads();
      place(begin, tokens);
      __syncthreads();
      fetch(begin + tileTokens);
      for (int i = 0; i < tokens;) {
        if (begin + i == nextChunk) {
          keep(states, chunk++);
          nextChunk += in.chunk;
        }
        const int end = min(tokens, nextChunk - begin);
        advance(i, end);
        i = end;
      }
      __syncthreads();
      if constexpr (hasY)
        store(begin, tokens, y);
    }
  }

private:
  /// Elements of b and c per access, and the most accesses of a thread per
  /// tile.
  static constexpr int n = isAligned ? vectorLength<T> : 1;
  static constexpr int most =
      isAligned ? tileTokens * widestState / (n * threads) : 1;

  /// Prefetches b and c of a tile into registers while the previous tile is
  /// computed.
  __device__ void fetch(int begin) {
    if constexpr (isAligned) {
#pragma unroll
      for (int k = 0; k < most; ++k) {
        const int i = (int(threadIdx.x) + k * threads) * n;
        const int token = begin + i / layout.padded, j = i % layout.padded;
        if (i >= tileTokens * layout.padded || token >= in.tokens ||
            j >= in.state) {
          nextB[k] = nextC[k] = {};
          continue;
        }
        const int64_t from = in.row(at, token) * in.state + j;
        nextB[k] = Vector<T, n>::load(in.b + from);
        if constexpr (hasY)
          nextC[k] = Vector<T, n>::load(in.c + from);
      }
    }
  }

  __device__ static void widen(const Vector<T, n>& from, float* to) {
#pragma unroll
    for (int e = 0; e < n; e += 4)
      *reinterpret_cast<float4*>(to + e) = {from[e], from[e + 1], from[e + 2],
                                            from[e + 3]};
  }

  /// Writes a tile to shared memory.
  __device__ void place(int begin, int tokens) {
    if constexpr (isAligned) {
#pragma unroll
      for (int k = 0; k < most; ++k) {
        const int i = (int(threadIdx.x) + k * threads) * n;
        if (i >= tileTokens * layout.padded)
          break;
        widen(nextB[k], tile.b + i);
        if constexpr (hasY)
          widen(nextC[k], tile.c + i);
      }
    } else {
      for (int i = int(threadIdx.x); i < tokens * layout.padded; i += threads) {
        const int j = i % layout.padded;
        const int64_t from =
            in.row(at, begin + i / layout.padded) * in.state + j;
        tile.b[i] = j < in.state ? float(in.b[from]) : 0.0f;
        tile.c[i] = j < in.state ? float(in.c[from]) : 0.0f;
      }
    }
    for (int i = int(threadIdx.x); i < tokens * count; i += threads)
      tile.x[i / count * layout.channels + i % count] =
          float(in.x[in.channelAt(at, begin + i / count) + first + i % count]);
    if (const int i = int(threadIdx.x); i < tileTokens) {
      const bool isThere = i < tokens;
      tile.step[i] = isThere ? softplus(in.rawStep(at, begin + i)) : 0.0f;
      tile.decay[i] = expf(-rate * tile.step[i]);
      tile.isFirst[i] = isThere && in.isFirst(at, begin + i);
    }
  }

  /// Advances the state over tokens of the tile. Lanes without a channel also
  /// call it, because other lanes exchange with them.
  __device__ void advance(int begin, int end) {
    const uint4 marks = *reinterpret_cast<const uint4*>(tile.isFirst);
    if (marks.x | marks.y | marks.z | marks.w) {
      for (int i = begin; i < end; ++i) {
        if (tile.isFirst[i])
#pragma unroll
          for (auto& four : state)
            four = {};
        advance(i);
      }
      return;
    }
#pragma unroll 4
    for (int i = begin; i < end; ++i)
      advance(i);
  }

  /// Advances the state to token i of the tile and computes y.
  __device__ __forceinline__ void advance(int i) {
    const bool isOwner = channel < count;
    const float x = isOwner ? tile.x[i * layout.channels + channel] : 0.0f;
    const float decay = tile.decay[i], input = tile.step[i] * x;
    const float4* const b =
        reinterpret_cast<const float4*>(tile.b + i * layout.padded) + lane;
    const float4* const c =
        reinterpret_cast<const float4*>(tile.c + i * layout.padded) + lane;
    float4 sum = {};
#pragma unroll
    for (int j = 0; j < fours; ++j) {
      const float4 own = b[j * layout.lanes];
      state[j].x = decay * state[j].x + input * own.x;
      state[j].y = decay * state[j].y + input * own.y;
      state[j].z = decay * state[j].z + input * own.z;
      state[j].w = decay * state[j].w + input * own.w;
      if constexpr (hasY) {
        const float4 read = c[j * layout.lanes];
        sum.x += state[j].x * read.x;
        sum.y += state[j].y * read.y;
        sum.z += state[j].z * read.z;
        sum.w += state[j].w * read.w;
      }
    }
    if constexpr (!hasY)
      return;
    const float all =
        acrossLanes((sum.x + sum.y) + (sum.z + sum.w), layout.lanes, Plus());
    if (isOwner && lane == 0)
      tile.y[i * layout.channels + channel] = all + skip * x;
  }

  __device__ void keep(float* states, int number) const {
    if (!states || channel >= count)
      return;
    float* const to =
        states + in.statesAt(at, number) + int64_t(first + channel) * in.state;
#pragma unroll
    for (int j = 0; j < fours; ++j) {
      const int from = (j * layout.lanes + lane) * 4;
      if (from >= in.state)
        continue;
      if (layout.isAligned) {
        *reinterpret_cast<float4*>(to + from) = state[j];
        continue;
      }
      const float numbers[] = {state[j].x, state[j].y, state[j].z, state[j].w};
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (from + e < in.state)
          to[from + e] = numbers[e];
    }
  }

  __device__ void store(int begin, int tokens, T* y) const {
    for (int i = int(threadIdx.x); i < tokens * count; i += threads)
      y[in.channelAt(at, begin + i / count) + first + i % count] =
          rounded<T>(tile.y[i / count * layout.channels + i % count]);
  }

  const ScanInputs<T>& in;
  const Layout& layout;
  const Tile tile;
  const ScanHead at;
  const int first, count; // channels of the head
  const int channel, lane;
  const float rate, skip;
  float4 state[fours] = {};
  Vector<T, n> nextB[most], nextC[most];
};

template <class T, bool isAligned, bool hasY>
__global__
__launch_bounds__(threads) void scan(const __grid_constant__ ScanInputs<T> in,
                                     const __grid_constant__ Layout layout,
                                     T* y, float* states) {
  extern __shared__ __align__(16) float shared[];
  Block<T, isAligned, hasY>(in, layout, shared).run(y, states);
}

} // namespace

Status stateScanCudaKernel(const CudaKernelArgs& args) {
  auto run = [&]<class T>(DeviceType<T>) -> Status {
    const ScanInputs<T> in(args.inputs,
                           ops::StateScanAttributes(args.op.attributes).chunk);
    if (in.isEmpty())
      return Status::ok();
    RECIPERUN_TRY(checkScan(in));
    float* const states = args.outputs[1].as<float>();
    const Layout layout = layoutFor(in.state, in.headWidth(), states);
    const dim3 grid(unsigned(ceilDivide(in.headWidth(), layout.channels)),
                    unsigned(in.groups * in.heads), unsigned(in.sequences));
    const auto bytes = size_t(layout.sharedBytes());
    const cudaStream_t stream = args.context.stream();
    T* const y = args.outputs[0].as<T>();
    const bool isAligned =
        in.state % vectorLength<T> == 0 && areAligned(16, in.b, in.c);
    const auto kernel =
        y ? (isAligned ? scan<T, true, true> : scan<T, false, true>)
          : (isAligned ? scan<T, true, false> : scan<T, false, false>);
    kernel<<<grid, threads, bytes, stream>>>(in, layout, y, states);
    return device::launchStatus();
  };
  return withDeviceType(args, args.inputs[0].type, run);
}

} // namespace reciperun::kernels
