// The gradient of the state space scan with plain f32 multiplications;
// StateScanBackward.cu has the algorithm.
//
// Thread (y, x) of 16 x 16 has rows y and y + 16 of all matmuls.

#ifndef RECIPERUN_KERNELS_SSM_STATESCANBACKWARDPLAIN_CUH
#define RECIPERUN_KERNELS_SSM_STATESCANBACKWARDPLAIN_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/ssm/StateScanBackward.cuh"

namespace reciperun::kernels::cuda {

namespace plainScan {

inline constexpr int threads = 256, side = 16;
inline constexpr int tileTokens = 32, tileChannels = 32;
/// Strides of rows in shared memory. The padding puts float4 accesses of
/// different rows into different banks.
inline constexpr int narrowRow = tileChannels + 4,
                     square = tileTokens * narrowRow;
static_assert(tileTokens == tileChannels);

// ---- matmuls in shared memory

struct Place {
  int x = int(threadIdx.x) % side, y = int(threadIdx.x) / side;
};

/// A left operand that reads four neighbours of a row, along the summed
/// dimension.
struct AlongRows {
  const float* data;
  int stride;
  __device__ float4 operator()(int row, int k) const {
    return *reinterpret_cast<const float4*>(data + row * stride + k);
  }
};
/// A left operand of matrix columns, each row of the matrix times its weight.
struct WeightedColumns {
  const float *data, *weights;
  __device__ float4 operator()(int row, int k) const {
    const float* from = data + k * narrowRow + row;
    return {weights[k] * from[0], weights[k + 1] * from[narrowRow],
            weights[k + 2] * from[2 * narrowRow],
            weights[k + 3] * from[3 * narrowRow]};
  }
};

/// A thread's columns of a right operand whose rows are the summed dimension.
template <int columns> __device__ int columnOf(int c) {
  return Place().x * columns + c;
}
/// A thread's columns of a right operand whose columns are the summed
/// dimension.
__device__ inline int columnAcross(int c) {
  return Place().x + c * side;
}

/// sum [rows, columns of the thread] += left [.., depth] right [depth, ..].
template <int columns, class Left>
__device__ __forceinline__ void multiply(float (&sum)[2][columns], int depth,
                                         Left left, const float* right,
                                         int stride) {
  const int y = Place().y;
  const float* from = right + columnOf<columns>(0);
  for (int k = 0; k < depth; k += 4) {
    const float4 a[2] = {left(y, k), left(y + side, k)};
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float b[columns];
#pragma unroll
      for (int c = 0; c < columns; ++c)
        b[c] = from[(k + j) * stride + c];
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int c = 0; c < columns; ++c)
          sum[r][c] += reinterpret_cast<const float*>(&a[r])[j] * b[c];
    }
  }
}

/// sum += left [.., depth] right^T, right [.., depth].
template <int columns>
__device__ __forceinline__ void multiplyAcross(float (&sum)[2][columns],
                                               int depth, AlongRows left,
                                               AlongRows right) {
  const int y = Place().y;
  for (int k = 0; k < depth; k += 4) {
    const float4 a[2] = {left(y, k), left(y + side, k)};
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const float4 b = right(columnAcross(c), k);
#pragma unroll
      for (int r = 0; r < 2; ++r)
        sum[r][c] +=
            (a[r].x * b.x + a[r].y * b.y) + (a[r].z * b.z + a[r].w * b.w);
    }
  }
}

inline constexpr int wideColumns = 4, wideBlock = wideColumns * side;

/// Calls body(first column) for each block of columns of a state.
template <class Body> __device__ void forColumns(int padded, Body body) {
  for (int first = 0; first < padded; first += wideBlock)
    body(first);
}

// ---- shared memory of a block

struct Shared {
  float *b, *c;                            // [tokens, padded]
  float *before, *owed;                    // [channels, padded]: S and E
  float *x, *dy;                           // [tokens, channels]
  float* scores;                           // [j, i]: L K
  float *slopes, *slopesAcross;            // [i, j]: L W D; [j, i]: L W
  float* products;                         // [i, j]: L K W D
  float* fromOwed;                         // [j, channels]: e_j E b_j
  double* sums;                            // [tokens]: s
  float *step, *raw, *toLast, *fromBefore; // [tokens]: D, its argument, e, f
  float* weights;                          // [tokens]: e D, or f
  float *inward, *ofBefore, *ofOwed, *skips, *pulls; // [tokens]
  int* run;     // [tokens]: documents started in the tile; -1 after its end
  float* whole; // f_last, then E . S of each warp

  static constexpr int vectors = 13 * tileTokens + 1 + threads / 32;

  __host__ __device__ static int wideRow(int padded) { return padded + 4; }
  __host__ __device__ static int bytes(int padded) {
    const int wide = tileTokens * wideRow(padded);
    return int(sizeof(double)) * tileTokens +
           int(sizeof(float)) * (4 * wide + 7 * square + vectors);
  }

  __device__ Shared(char* room, int padded) {
    sums = reinterpret_cast<double*>(room);
    float* next = reinterpret_cast<float*>(sums + tileTokens);
    auto take = [&](int count) {
      float* taken = next;
      next += count;
      return taken;
    };
    const int wide = tileTokens * wideRow(padded);
    b = take(wide);
    c = take(wide);
    before = take(wide);
    owed = take(wide);
    x = take(square);
    dy = take(square);
    scores = take(square);
    slopes = take(square);
    slopesAcross = take(square);
    products = take(square);
    fromOwed = take(square);
    step = take(tileTokens);
    raw = take(tileTokens);
    toLast = take(tileTokens);
    fromBefore = take(tileTokens);
    weights = take(tileTokens);
    inward = take(tileTokens);
    ofBefore = take(tileTokens);
    ofOwed = take(tileTokens);
    skips = take(tileTokens);
    pulls = take(tileTokens);
    run = reinterpret_cast<int*>(take(tileTokens));
    whole = take(1 + threads / 32);
  }
};

__device__ inline float sumOfRow(float value) {
  return acrossLanes(value, side, Plus());
}

template <class T> class Block {
public:
  __device__ Block(const ScanCall<T>& call, const ScanSpan& span, char* room)
      : call(call), in(call.in), span(span), s(room, call.padded),
        stride(Shared::wideRow(call.padded)), unit(int(blockIdx.y)),
        part(int(blockIdx.x)), at{(call.firstUnit + unit) / in.groups,
                                  (call.firstUnit + unit) % in.groups,
                                  part / call.partsOfHead()},
        firstChannel(part % call.partsOfHead() * tileChannels),
        channels(min(tileChannels, in.headWidth() - firstChannel)),
        rate(in.rate(at)), skip(in.skip(at)) {}

  __device__ void run() {
    ParameterSums* const kept =
        call.sums + int64_t(call.firstUnit + unit) * call.parts + part;
    if (!span.isFirst)
      total = *kept;
    float* const owed = call.owed + (int64_t(unit) * call.parts + part) *
                                        tileChannels * call.padded;
    for (int i = int(threadIdx.x); i < tileChannels * call.padded; i += threads)
      s.owed[i / call.padded * stride + i % call.padded] =
          span.isFirst ? 0.0f : owed[i];
    for (int tile = span.firstTile + span.tiles - 1; tile >= span.firstTile;
         --tile)
      takeTile(tile);
    __syncthreads();
    for (int i = int(threadIdx.x); i < tileChannels * call.padded; i += threads)
      owed[i] = s.owed[i / call.padded * stride + i % call.padded];
    if (threadIdx.x == 0)
      *kept = total;
  }

private:
  __device__ int beginOf(int tile) const {
    return span.chunk * in.chunk + tile * tileTokens;
  }
  __device__ int countOf(int tile) const {
    const int end = min((span.chunk + 1) * in.chunk, in.tokens);
    return min(tileTokens, end - beginOf(tile));
  }

  __device__ void takeTile(int tile) {
    restore(tile);
    __syncthreads();
    const int begin = beginOf(tile), count = countOf(tile);
    loadStates(s.b, in.b, begin, count);
    loadStates(s.c, in.c, begin, count);
    loadChannels(s.x, in.x, begin, count);
    loadChannels(s.dy, call.dy, begin, count);
    measure(begin, count);
    __syncthreads();
    relate();
    readOwed();
    __syncthreads();
    giveInputs(begin, count);
    giveReads(tile, count);
    giveWrites(tile, count);
    compareStates();
    __syncthreads();
    pass();
    __syncthreads();
    giveSteps(tile, begin, count);
  }

  // ---- loads

  __device__ void loadStates(float* to, const T* from, int begin, int count) {
    for (int i = int(threadIdx.x); i < tileTokens * call.padded; i += threads) {
      const int token = i / call.padded, j = i % call.padded;
      to[token * stride + j] =
          token < count && j < in.state
              ? float(from[in.row(at, begin + token) * in.state + j])
              : 0.0f;
    }
  }
  __device__ void loadChannels(float* to, const T* from, int begin, int count) {
    for (int i = int(threadIdx.x); i < tileTokens * tileChannels;
         i += threads) {
      const int token = i / tileChannels, j = i % tileChannels;
      to[token * narrowRow + j] =
          token < count && j < channels
              ? float(from[in.channelAt(at, begin + token) + firstChannel + j])
              : 0.0f;
    }
  }

  /// Computes the steps, documents and decays of a tile, in one warp.
  __device__ void measure(int begin, int count) {
    if (threadIdx.x >= tileTokens)
      return;
    const int lane = int(threadIdx.x), last = count - 1;
    const bool isThere = lane < count;
    const float raw = isThere ? in.rawStep(at, begin + lane) : 0.0f;
    const float step = isThere ? softplus(raw) : 0.0f;
    double sum = -double(rate) * double(step);
    int run = isThere && in.isFirst(at, begin + lane) ? 1 : 0;
    for (int up = 1; up < tileTokens; up *= 2) {
      const double other = __shfl_up_sync(~0u, sum, unsigned(up));
      const int others = __shfl_up_sync(~0u, run, unsigned(up));
      sum += lane >= up ? other : 0.0;
      run += lane >= up ? others : 0;
    }
    const double all = __shfl_sync(~0u, sum, last);
    const int lastRun = __shfl_sync(~0u, run, last);
    s.raw[lane] = raw;
    s.step[lane] = step;
    s.sums[lane] = sum;
    s.run[lane] = isThere ? run : -1;
    s.fromBefore[lane] = isThere && run == 0 ? expf(float(sum)) : 0.0f;
    s.toLast[lane] = isThere && run == lastRun ? expf(float(all - sum)) : 0.0f;
    if (lane == 0)
      s.whole[0] = lastRun == 0 ? expf(float(all)) : 0.0f;
  }

  /// Step 1: computes `before`, the state before the tile.
  __device__ void restore(int tile) {
    __syncthreads();
    const float* const from = call.states + in.statesAt(at, span.chunk) +
                              int64_t(firstChannel) * in.state;
    for (int i = int(threadIdx.x); i < tileChannels * call.padded;
         i += threads) {
      const int p = i / call.padded, j = i % call.padded;
      s.before[p * stride + j] =
          p < channels && j < in.state ? from[int64_t(p) * in.state + j] : 0.0f;
    }
    for (int earlier = 0; earlier < tile; ++earlier) {
      const int begin = beginOf(earlier), count = countOf(earlier);
      __syncthreads();
      loadStates(s.b, in.b, begin, count);
      loadChannels(s.x, in.x, begin, count);
      measure(begin, count);
      if (threadIdx.x < tileTokens)
        s.weights[threadIdx.x] = s.toLast[threadIdx.x] * s.step[threadIdx.x];
      __syncthreads();
      carry(s.before, s.x, s.b);
    }
  }

  /// to [channels, padded] = f_last to + (weights rows)^T columns, over tokens.
  __device__ void carry(float* to, const float* rows, const float* columns) {
    const float kept = s.whole[0];
    forColumns(call.padded, [&](int first) {
      float sum[2][wideColumns] = {};
      multiply(sum, tileTokens, WeightedColumns{rows, s.weights},
               columns + first, stride);
      forElements(sum, [&](int p, int c, float value) {
        float& element = to[p * stride + first + columnOf<wideColumns>(c)];
        element = kept * element + value;
      });
    });
  }

  /// Calls body(row, index of the thread's column, element).
  template <int columns, class Body>
  __device__ __forceinline__ void forElements(const float (&sum)[2][columns],
                                              Body body) const {
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int c = 0; c < columns; ++c)
        body(Place().y + r * side, c, sum[r][c]);
  }

  // ---- step 2

  /// Computes K and W, and the elementwise products with them.
  __device__ void relate() {
    float k[2][2] = {}, w[2][2] = {};
    multiplyAcross(k, call.padded, AlongRows{s.c, stride},
                   AlongRows{s.b, stride});
    multiplyAcross(w, tileChannels, AlongRows{s.dy, narrowRow},
                   AlongRows{s.x, narrowRow});
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int i = Place().y + r * side, j = columnAcross(c);
        const bool isSeen = j <= i && s.run[i] >= 0 && s.run[i] == s.run[j];
        const float decay = isSeen ? expf(float(s.sums[i] - s.sums[j])) : 0.0f;
        const float score = decay * k[r][c], slope = decay * w[r][c];
        s.scores[j * narrowRow + i] = score;
        s.slopesAcross[j * narrowRow + i] = slope;
        s.slopes[i * narrowRow + j] = slope * s.step[j];
        s.products[i * narrowRow + j] = score * w[r][c] * s.step[j];
        if (i == j)
          s.skips[i] = w[r][c];
      }
  }

  /// Computes e_j E b_j, and its product with D_j x_j.
  __device__ void readOwed() {
    float sum[2][2] = {};
    multiplyAcross(sum, call.padded, AlongRows{s.b, stride},
                   AlongRows{s.owed, stride});
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int j = Place().y + r * side;
      float taken = 0;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int p = columnAcross(c);
        const float value = s.toLast[j] * sum[r][c];
        s.fromOwed[j * narrowRow + p] = value;
        taken += s.x[j * narrowRow + p] * value;
      }
      taken = sumOfRow(taken);
      if (Place().x == 0)
        s.ofOwed[j] = s.step[j] * taken;
    }
  }

  /// Computes dx, and x_j r_j.
  __device__ void giveInputs(int begin, int count) {
    float sum[2][2] = {};
    multiply(sum, tileTokens, AlongRows{s.scores, narrowRow}, s.dy, narrowRow);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int j = Place().y + r * side;
      float taken = 0;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int p = columnOf<2>(c);
        const float inward = sum[r][c] + s.fromOwed[j * narrowRow + p];
        taken += s.x[j * narrowRow + p] * inward;
        if (j < count && p < channels)
          call.dx[in.channelAt(at, begin + j) + firstChannel + p] =
              rounded<T>(s.step[j] * inward + skip * s.dy[j * narrowRow + p]);
      }
      taken = sumOfRow(taken);
      if (Place().x == 0)
        s.inward[j] = taken;
    }
  }

  /// The address of a token's share of db; the share of dc follows it.
  __device__ float* shareOf(int tile, int token) const {
    return call.shares +
           call.shareAt(unit, part,
                        (tile - span.firstTile) * tileTokens + token) *
               2 * in.state;
  }

  /// Computes dc, and f_i dy_i S c_i.
  __device__ void giveReads(int tile, int count) {
    float ofBefore[2] = {};
    forColumns(call.padded, [&](int first) {
      float sum[2][wideColumns] = {};
      multiply(sum, tileChannels, AlongRows{s.dy, narrowRow}, s.before + first,
               stride);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int i = Place().y + r * side;
#pragma unroll
        for (int c = 0; c < wideColumns; ++c) {
          sum[r][c] *= s.fromBefore[i];
          ofBefore[r] +=
              sum[r][c] * s.c[i * stride + first + columnOf<wideColumns>(c)];
        }
      }
      multiply(sum, tileTokens, AlongRows{s.slopes, narrowRow}, s.b + first,
               stride);
      forElements(sum, [&](int i, int c, float value) {
        const int j = first + columnOf<wideColumns>(c);
        if (i < count && j < in.state)
          shareOf(tile, i)[in.state + j] = value;
      });
    });
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float all = sumOfRow(ofBefore[r]);
      if (Place().x == 0)
        s.ofBefore[Place().y + r * side] = all;
    }
  }

  /// Computes db.
  __device__ void giveWrites(int tile, int count) {
    forColumns(call.padded, [&](int first) {
      float sum[2][wideColumns] = {};
      multiply(sum, tileChannels, AlongRows{s.x, narrowRow}, s.owed + first,
               stride);
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int c = 0; c < wideColumns; ++c)
          sum[r][c] *= s.toLast[Place().y + r * side];
      multiply(sum, tileTokens, AlongRows{s.slopesAcross, narrowRow},
               s.c + first, stride);
      forElements(sum, [&](int i, int c, float value) {
        const int j = first + columnOf<wideColumns>(c);
        if (i < count && j < in.state)
          shareOf(tile, i)[j] = s.step[i] * value;
      });
    });
  }

  /// Computes E . S, per warp.
  __device__ void compareStates() {
    float sum = 0;
    for (int i = int(threadIdx.x); i < tileChannels * call.padded;
         i += threads) {
      const int j = i / call.padded * stride + i % call.padded;
      sum += s.owed[j] * s.before[j];
    }
    sum = acrossLanes(sum, 32, Plus());
    if (threadIdx.x % 32 == 0)
      s.whole[1 + threadIdx.x / 32] = sum;
    if (threadIdx.x < tileTokens)
      s.weights[threadIdx.x] = s.fromBefore[threadIdx.x];
  }

  /// Computes E of the tile before, and the sums over i >= t > j.
  __device__ void pass() {
    carry(s.owed, s.dy, s.c);
    constexpr int lanes = threads / tileTokens;
    const int t = int(threadIdx.x) / lanes;
    float sum = 0;
    for (int i = t + int(threadIdx.x) % lanes; i < tileTokens; i += lanes)
      for (int j = 0; j < t; ++j)
        sum += s.products[i * narrowRow + j];
    sum = acrossLanes(sum, lanes, Plus());
    if (threadIdx.x % lanes == 0)
      s.pulls[t] = sum;
  }

  /// Computes ddt and the gradients of parameters, in one warp.
  __device__ void giveSteps(int tile, int begin, int count) {
    if (threadIdx.x >= tileTokens)
      return;
    const int t = int(threadIdx.x);
    // Sums over the tokens from t on, and over the tokens before t.
    float later = s.ofBefore[t], earlier = s.ofOwed[t];
    for (int step = 1; step < tileTokens; step *= 2) {
      const float behind = __shfl_down_sync(~0u, later, unsigned(step));
      const float before = __shfl_up_sync(~0u, earlier, unsigned(step));
      later += t + step < tileTokens ? behind : 0.0f;
      earlier += t >= step ? before : 0.0f;
    }
    earlier = __shfl_up_sync(~0u, earlier, 1);
    float states = 0;
    for (int warp = 0; warp < threads / 32; ++warp)
      states += s.whole[1 + warp];
    const float pull =
        s.pulls[t] + later + (t > 0 ? earlier : 0.0f) + s.whole[0] * states;
    const bool isThere = t < count;
    const float slope =
        isThere ? (s.inward[t] - rate * pull) * slopeOfSoftplus(s.raw[t])
                : 0.0f;
    if (isThere)
      call.stepShares[call.shareAt(
          unit, part, (tile - span.firstTile) * tileTokens + t)] = slope;
    total.dtBias += acrossLanes(double(slope), tileTokens, Plus());
    total.aLog -= acrossLanes(isThere ? double(rate * s.step[t] * pull) : 0.0,
                              tileTokens, Plus());
    total.d +=
        acrossLanes(isThere ? double(s.skips[t]) : 0.0, tileTokens, Plus());
  }

  const ScanCall<T>& call;
  const ScanInputs<T>& in;
  const ScanSpan& span;
  const Shared s;
  const int stride, unit, part;
  const ScanHead at;
  const int firstChannel, channels;
  const float rate, skip;
  ParameterSums total = {}; // of the first warp
};

} // namespace plainScan

template <class T>
__global__ __launch_bounds__(plainScan::threads, 2) void scanBackPlain(
    const __grid_constant__ ScanCall<T> call,
    const __grid_constant__ ScanSpan span) {
  extern __shared__ __align__(16) char room[];
  plainScan::Block<T>(call, span, room).run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_SSM_STATESCANBACKWARDPLAIN_CUH
