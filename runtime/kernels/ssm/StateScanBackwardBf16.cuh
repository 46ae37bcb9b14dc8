// The gradient of the state space scan in bf16 on tensor cores;
// StateScanBackward.cu has the algorithm.
//
// A block of eight warps processes tiles of 64 tokens and 64 channels. In each
// matmul a warp computes 16 rows and one half of the columns. S and E are f32
// in registers, and bf16 in shared memory, where matmuls read them, like L K, L
// W and L W D. Matmuls accumulate in f32.

#ifndef RECIPERUN_KERNELS_SSM_STATESCANBACKWARDBF16_CUH
#define RECIPERUN_KERNELS_SSM_STATESCANBACKWARDBF16_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/MatrixFragments.cuh"
#include "runtime/kernels/ssm/StateScanBackward.cuh"

namespace reciperun::kernels::cuda {

/// `width` is the size of a state, padded to 64 or 128.
template <int width> class TensorScanBlock {
public:
  static constexpr int threads = 256, side = 64;

private:
  static constexpr int halves = 2; // of the columns, one per warp
  /// A warp's blocks of eight columns, of tokens and of a state.
  static constexpr int narrow = side / 8 / halves, wide = width / 8 / halves;
  static constexpr int matmulRow = side + 1;

  using Narrow = float[narrow][4];
  using Wide = float[wide][4];

  /// The values of each token of a tile.
  struct Tokens {
    double sums[side];                    // s
    float step[side], raw[side];          // D, and the argument of its softplus
    float toLast[side], fromBefore[side]; // e, f
    float inward[halves][side], ofBefore[halves][side]; // x r; f dy S c
    float ofOwed[halves][side];                         // D x e E b
    float skips[side], pulls[side];
    int run[side]; // documents started in the tile; -1 after its end
    float whole, states[threads / 32]; // f_last; E . S of each warp
  };

public:
  static constexpr int sharedBytes =
      (4 * side * width + 6 * side * side) * int(sizeof(Bf16)) +
      side * matmulRow * int(sizeof(float)) + int(sizeof(Tokens)) + 16;

  __device__ TensorScanBlock(const ScanCall<Bf16>& call, const ScanSpan& span,
                             char* room)
      : call(call), in(call.in),
        span(span), b{reinterpret_cast<Bf16*>(room)}, c{b.data + side * width},
        before{c.data + side * width}, owed{before.data + side * width},
        x{owed.data + side * width}, dy{x.data + side * side},
        weighted{dy.data + side * side}, scores{weighted.data + side * side},
        slopes{scores.data + side * side}, steppedSlopes{slopes.data +
                                                         side * side},
        products(reinterpret_cast<float*>(steppedSlopes.data + side * side)),
        tokens(*reinterpret_cast<Tokens*>(
            reinterpret_cast<char*>(products) +
            (side * matmulRow * int(sizeof(float)) + 15) / 16 * 16)),
        lane(int(threadIdx.x) % 32), warp(int(threadIdx.x) / 32),
        firstRow(warp % 4 * 16), half(warp / 4), unit(int(blockIdx.y)),
        part(int(blockIdx.x)), at{(call.firstUnit + unit) / in.groups,
                                  (call.firstUnit + unit) % in.groups,
                                  part / call.partsOfHead()},
        firstChannel(part % call.partsOfHead() * side),
        channels(min(side, in.headWidth() - firstChannel)), rate(in.rate(at)),
        skip(in.skip(at)) {}

  __device__ void run() {
    ParameterSums* const kept =
        call.sums + int64_t(call.firstUnit + unit) * call.parts + part;
    if (!span.isFirst)
      total = *kept;
    float* const ofBlock =
        call.owed + (int64_t(unit) * call.parts + part) * side * width;
    forWide([&](int n, int i) {
      owes[n][i] = span.isFirst ? 0.0f : ofBlock[keptAt(n, i)];
    });
    store(owed, owes);
    for (int tile = span.firstTile + span.tiles - 1; tile >= span.firstTile;
         --tile)
      takeTile(tile);
    forWide([&](int n, int i) { ofBlock[keptAt(n, i)] = owes[n][i]; });
    if (threadIdx.x == 0)
      *kept = total;
  }

private:
  // ---- positions of a lane's elements of a matmul

  __device__ int rowOf(int i) const { return firstRow + i / 2 * 8 + lane / 4; }
  __device__ int narrowColumn(int n, int i) const {
    return half * (side / halves) + n * 8 + lane % 4 * 2 + i % 2;
  }
  __device__ int wideColumn(int n, int i) const {
    return half * (width / halves) + n * 8 + lane % 4 * 2 + i % 2;
  }
  template <class Body>
  __device__ __forceinline__ void forWide(Body body) const {
#pragma unroll
    for (int n = 0; n < wide; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        body(n, i);
  }
  template <class Body>
  __device__ __forceinline__ void forNarrow(Body body) const {
#pragma unroll
    for (int n = 0; n < narrow; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        body(n, i);
  }
  /// The index at which a thread keeps element (n, i) of its part of E between
  /// launches. Only the same thread reads it again.
  __device__ int keptAt(int n, int i) const {
    return (n * 4 + i) * threads + int(threadIdx.x);
  }
  template <int columns>
  __device__ static float read(Tile<columns> tile, int row, int column) {
    return __bfloat162float(
        tile.at(row, column / chunkSize)[column % chunkSize]);
  }
  /// Writes two neighbours of a row.
  template <int columns>
  __device__ static void write(Tile<columns> tile, int row, int column,
                               float first, float second) {
    *reinterpret_cast<uint32_t*>(tile.at(row, column / chunkSize) +
                                 column % chunkSize) = pack(first, second);
  }
  /// Stores rows [64, width] of a warp's accumulators in bf16.
  __device__ __forceinline__ void store(Tile<width> to,
                                        const Wide& from) const {
#pragma unroll
    for (int n = 0; n < wide; ++n)
#pragma unroll
      for (int i = 0; i < 4; i += 2)
        write(to, rowOf(i), wideColumn(n, i), from[n][i], from[n][i + 1]);
  }

  // ---- matmuls: sum += left right, summed over [begin, end)

  /// Left operands cover the warp's rows; right operands the warp's half of the
  /// columns.
  template <int count, class Left, class Right>
  __device__ __forceinline__ void multiply(float (&sum)[count][4], int begin,
                                           int end, Left left,
                                           Right right) const {
#pragma unroll
    for (int k = begin; k < end; k += 16) {
      uint32_t a[4];
      left(a, k);
#pragma unroll
      for (int n = 0; n < count; n += 2) {
        uint32_t columns[4];
        right(columns, half * count * 8 + n * 8, k);
        cuda::multiply(sum[n], a, columns[0], columns[1]);
        cuda::multiply(sum[n + 1], a, columns[2], columns[3]);
      }
    }
  }
  /// Left operands from a tile [rows, summed] and from a tile [summed, rows].
  template <int columns> __device__ auto leftOf(Tile<columns> tile) const {
    return [operands = Operands<columns>(tile, lane), row = firstRow](
               uint32_t(&to)[4], int k) { operands.left(to, row, k); };
  }
  template <int columns> __device__ auto leftAcross(Tile<columns> tile) const {
    return [operands = Operands<columns>(tile, lane), row = firstRow](
               uint32_t(&to)[4], int k) { operands.leftAcross(to, row, k); };
  }
  /// Right operands from a tile [columns, summed] and from a tile [summed,
  /// columns].
  template <int columns> __device__ auto rightOf(Tile<columns> tile) const {
    return [operands = Operands<columns>(tile, lane)](uint32_t(&to)[4],
                                                      int column, int k) {
      operands.right(to, column, k);
    };
  }
  template <int columns> __device__ auto rightAcross(Tile<columns> tile) const {
    return [operands = Operands<columns>(tile, lane)](uint32_t(&to)[4],
                                                      int column, int k) {
      operands.rightAcross(to, column, k);
    };
  }

  // ---- loads

  __device__ int beginOf(int tile) const {
    return span.chunk * in.chunk + tile * side;
  }
  __device__ int countOf(int tile) const {
    const int end = min((span.chunk + 1) * in.chunk, in.tokens);
    return min(side, end - beginOf(tile));
  }
  __device__ void fillStates(Tile<width> to, const Bf16* from, int begin,
                             int count) const {
    fill<side, threads>(to, TileSource{from + in.row(at, begin) * in.state,
                                       int64_t(in.groups) * in.state, count,
                                       in.state, call.isAligned});
  }
  __device__ void fillChannels(Tile<side> to, const Bf16* from, int begin,
                               int count) const {
    fill<side, threads>(
        to, TileSource{from + in.channelAt(at, begin) + firstChannel,
                       int64_t(in.groups) * in.channels, count, channels,
                       call.isAligned});
  }

  /// Computes the steps, documents and decays of a tile, in one warp with two
  /// tokens per lane.
  __device__ void measure(int begin, int count) {
    if (warp != 0)
      return;
    const int last = count - 1;
    float raw[2], step[2];
    double sum[2];
    int run[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int t = 2 * lane + i;
      const bool isThere = t < count;
      raw[i] = isThere ? in.rawStep(at, begin + t) : 0.0f;
      step[i] = isThere ? softplus(raw[i]) : 0.0f;
      sum[i] = -double(rate) * double(step[i]);
      run[i] = isThere && in.isFirst(at, begin + t) ? 1 : 0;
    }
    sum[1] += sum[0];
    run[1] += run[0];
    double sumsBefore = sum[1];
    int runsBefore = run[1];
    for (int up = 1; up < 32; up *= 2) {
      const double other = __shfl_up_sync(~0u, sumsBefore, unsigned(up));
      const int others = __shfl_up_sync(~0u, runsBefore, unsigned(up));
      sumsBefore += lane >= up ? other : 0.0;
      runsBefore += lane >= up ? others : 0;
    }
    sumsBefore -= sum[1];
    runsBefore -= run[1];
    const double evenSum = __shfl_sync(~0u, sumsBefore + sum[0], last / 2);
    const double oddSum = __shfl_sync(~0u, sumsBefore + sum[1], last / 2);
    const int evenRun = __shfl_sync(~0u, runsBefore + run[0], last / 2);
    const int oddRun = __shfl_sync(~0u, runsBefore + run[1], last / 2);
    const double all = last % 2 ? oddSum : evenSum;
    const int lastRun = last % 2 ? oddRun : evenRun;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int t = 2 * lane + i;
      const bool isThere = t < count;
      const double own = sumsBefore + sum[i];
      const int number = runsBefore + run[i];
      tokens.raw[t] = raw[i];
      tokens.step[t] = step[i];
      tokens.sums[t] = own;
      tokens.run[t] = isThere ? number : -1;
      tokens.fromBefore[t] = isThere && number == 0 ? expf(float(own)) : 0.0f;
      tokens.toLast[t] =
          isThere && number == lastRun ? expf(float(all - own)) : 0.0f;
    }
    if (lane == 0)
      tokens.whole = lastRun == 0 ? expf(float(all)) : 0.0f;
  }

  /// Multiplies the rows of a tile of channels by a factor of their token.
  template <class Weight>
  __device__ void weigh(Tile<side> rows, Weight weight) const {
    for (int i = int(threadIdx.x); i < side * side / 2; i += threads) {
      const int token = i / (side / 2), channel = i % (side / 2) * 2;
      const float factor = weight(token);
      write(weighted, token, channel, factor * read(rows, token, channel),
            factor * read(rows, token, channel + 1));
    }
  }

  // ---- a tile

  __device__ void takeTile(int tile) {
    restore(tile);
    const int begin = beginOf(tile), count = countOf(tile);
    __syncthreads();
    fillStates(b, in.b, begin, count);
    fillStates(c, in.c, begin, count);
    fillChannels(x, in.x, begin, count);
    fillChannels(dy, call.dy, begin, count);
    commitCopies();
    measure(begin, count);
    store(before, states);
    waitForCopies<0>();
    __syncthreads();
    weigh(dy, [&](int token) { return tokens.fromBefore[token]; });
    relate();
    __syncthreads();
    giveInputs(begin, count);
    giveReads(tile, count);
    giveWrites(tile, count);
    compareStates();
    sumMatmulsBefore();
    __syncthreads();
    carry(owes, c);
    store(owed, owes);
    sumMatmulsBehind();
    __syncthreads();
    giveSteps(tile, count);
  }

  /// Step 1: computes the states before the tile.
  __device__ void restore(int tile) {
    const float* const from = call.states + in.statesAt(at, span.chunk) +
                              int64_t(firstChannel) * in.state;
    forWide([&](int n, int i) {
      const int p = rowOf(i), j = wideColumn(n, i);
      states[n][i] =
          p < channels && j < in.state ? from[int64_t(p) * in.state + j] : 0.0f;
    });
    for (int earlier = 0; earlier < tile; ++earlier) {
      const int begin = beginOf(earlier), count = countOf(earlier);
      __syncthreads();
      fillStates(b, in.b, begin, count);
      fillChannels(x, in.x, begin, count);
      commitCopies();
      measure(begin, count);
      waitForCopies<0>();
      __syncthreads();
      weigh(x, [&](int token) {
        return tokens.toLast[token] * tokens.step[token];
      });
      __syncthreads();
      carry(states, b);
    }
  }

  /// to [channels, width] = f_last to + weighted^T columns, over tokens.
  __device__ __forceinline__ void carry(Wide& to, Tile<width> columns) const {
    const float kept = tokens.whole;
    forWide([&](int n, int i) { to[n][i] *= kept; });
    multiply(to, 0, side, leftAcross(weighted), rightAcross(columns));
  }

  /// Computes K and W, and the elementwise products with them.
  __device__ void relate() {
    Narrow k = {}, w = {};
    // All elements above the diagonal are 0.
    if (firstRow + 16 > half * (side / halves)) {
      multiply(k, 0, width, leftOf(c), rightOf(b));
      multiply(w, 0, side, leftOf(dy), rightOf(x));
    }
#pragma unroll
    for (int n = 0; n < narrow; ++n)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const int row = rowOf(i), column = narrowColumn(n, i);
        float score[2], slope[2], stepped[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          const int j = column + e;
          const float decay = decayOf(row, j), step = tokens.step[j];
          score[e] = decay * k[n][i + e];
          slope[e] = decay * w[n][i + e];
          stepped[e] = slope[e] * step;
          products[row * matmulRow + j] = score[e] * w[n][i + e] * step;
          if (row == j)
            tokens.skips[row] = w[n][i + e];
        }
        write(scores, row, column, score[0], score[1]);
        write(slopes, row, column, slope[0], slope[1]);
        write(steppedSlopes, row, column, stepped[0], stepped[1]);
      }
  }

  /// L_ij.
  __device__ float decayOf(int i, int j) const {
    const int run = tokens.run[i];
    return j <= i && run >= 0 && run == tokens.run[j]
               ? expf(float(tokens.sums[i] - tokens.sums[j]))
               : 0.0f;
  }

  /// Sums a lane's elements of rows over its four lanes. The halves of a row's
  /// columns stay separate.
  __device__ void keepRows(const float (&ofRows)[2],
                           float (&to)[halves][side]) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float sum = acrossLanes(ofRows[r], 4, Plus());
      if (lane % 4 == 0)
        to[half][rowOf(2 * r)] = sum;
    }
  }

  /// Computes dx, x r, and D x e E b.
  __device__ void giveInputs(int begin, int count) {
    Narrow sum = {};
    multiply(sum, 0, width, leftOf(b), rightOf(owed));
    float ofOwed[2] = {}, inward[2] = {};
    forNarrow([&](int n, int i) {
      const int j = rowOf(i);
      sum[n][i] *= tokens.toLast[j];
      ofOwed[i / 2] +=
          tokens.step[j] * read(x, j, narrowColumn(n, i)) * sum[n][i];
    });
    keepRows(ofOwed, tokens.ofOwed);
    // L K is 0 for tokens i before these rows.
    multiply(sum, firstRow, side, leftAcross(scores), rightAcross(dy));
#pragma unroll
    for (int n = 0; n < narrow; ++n)
#pragma unroll
      for (int i = 0; i < 4; i += 2) {
        const int j = rowOf(i), p = narrowColumn(n, i);
        inward[i / 2] += read(x, j, p) * sum[n][i];
        inward[i / 2] += read(x, j, p + 1) * sum[n][i + 1];
        if (j >= count)
          continue;
        const float step = tokens.step[j];
        storePair(call.dx + in.channelAt(at, begin + j) + firstChannel, p,
                  channels, call.isAligned,
                  step * sum[n][i] + skip * read(dy, j, p),
                  step * sum[n][i + 1] + skip * read(dy, j, p + 1));
      }
    keepRows(inward, tokens.inward);
  }

  /// The address of a token's share of db; the share of dc follows it.
  __device__ float* shareOf(int tile, int token) const {
    return call.shares +
           call.shareAt(unit, part, (tile - span.firstTile) * side + token) *
               2 * in.state;
  }

  /// Computes dc, and f dy S c.
  __device__ void giveReads(int tile, int count) {
    Wide sum = {};
    multiply(sum, 0, side, leftOf(dy), rightAcross(before));
    float ofBefore[2] = {};
    forWide([&](int n, int i) {
      const int row = rowOf(i);
      sum[n][i] *= tokens.fromBefore[row];
      ofBefore[i / 2] += sum[n][i] * read(c, row, wideColumn(n, i));
    });
    keepRows(ofBefore, tokens.ofBefore);
    multiply(sum, 0, firstRow + 16, leftOf(steppedSlopes), rightAcross(b));
    forWide([&](int n, int i) {
      const int j = wideColumn(n, i);
      if (rowOf(i) < count && j < in.state)
        shareOf(tile, rowOf(i))[in.state + j] = sum[n][i];
    });
  }

  /// Computes db.
  __device__ void giveWrites(int tile, int count) {
    Wide sum = {};
    multiply(sum, 0, side, leftOf(x), rightAcross(owed));
    forWide([&](int n, int i) { sum[n][i] *= tokens.toLast[rowOf(i)]; });
    multiply(sum, firstRow, side, leftAcross(slopes), rightAcross(c));
    forWide([&](int n, int i) {
      const int j = wideColumn(n, i);
      if (rowOf(i) < count && j < in.state)
        shareOf(tile, rowOf(i))[j] = tokens.step[rowOf(i)] * sum[n][i];
    });
  }

  /// Computes E . S, per warp.
  __device__ void compareStates() {
    float sum = 0;
    forWide([&](int n, int i) { sum += owes[n][i] * states[n][i]; });
    sum = acrossLanes(sum, 32, Plus());
    if (lane == 0)
      tokens.states[warp] = sum;
  }

  /// Replaces each row of `products` by its exclusive prefix sums. Four lanes
  /// process a row; no other lane reads it meanwhile.
  __device__ void sumMatmulsBefore() {
    constexpr int piece = side / 4;
    float* const own = products + int(threadIdx.x) / 4 * matmulRow +
                       int(threadIdx.x) % 4 * piece;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < piece; ++j) {
      const float value = own[j];
      own[j] = sum;
      sum += value;
    }
    float before = sum;
    for (int up = 1; up < 4; up *= 2) {
      const float other = __shfl_up_sync(~0u, before, unsigned(up));
      before += lane % 4 >= up ? other : 0.0f;
    }
    before -= sum;
    for (int j = 0; j < piece; ++j)
      own[j] += before;
  }

  /// Sums column t of the prefix sums over the rows i >= t, which gives the sum
  /// of the products of i >= t > j.
  __device__ void sumMatmulsBehind() {
    const int t = int(threadIdx.x) / 4;
    float sum = 0;
    for (int i = t + int(threadIdx.x) % 4; i < side; i += 4)
      sum += products[i * matmulRow + t];
    sum = acrossLanes(sum, 4, Plus());
    if (lane % 4 == 0)
      tokens.pulls[t] = sum;
  }

  /// Computes ddt and the gradients of parameters, in one warp with two tokens
  /// per lane.
  __device__ void giveSteps(int tile, int count) {
    if (warp != 0)
      return;
    float later[2], earlier[2], allStates = 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int t = 2 * lane + i;
      later[i] = tokens.ofBefore[0][t] + tokens.ofBefore[1][t];
      earlier[i] = tokens.ofOwed[0][t] + tokens.ofOwed[1][t];
    }
    for (float ofWarp : tokens.states)
      allStates += ofWarp;
    // The sums over the tokens of all later lanes, and of all earlier lanes.
    float behind = later[0] + later[1], before = earlier[0] + earlier[1];
    for (int step = 1; step < 32; step *= 2) {
      const float down = __shfl_down_sync(~0u, behind, unsigned(step));
      const float up = __shfl_up_sync(~0u, before, unsigned(step));
      behind += lane + step < 32 ? down : 0.0f;
      before += lane >= step ? up : 0.0f;
    }
    behind = __shfl_down_sync(~0u, behind, 1);
    before = __shfl_up_sync(~0u, before, 1);
    behind = lane < 31 ? behind : 0.0f;
    before = lane > 0 ? before : 0.0f;
    const float fromOn[2] = {behind + later[1] + later[0], behind + later[1]};
    const float upTo[2] = {before, before + earlier[0]};
    double sums[3] = {};
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int t = 2 * lane + i;
      if (t >= count)
        continue;
      const float pull =
          tokens.pulls[t] + fromOn[i] + upTo[i] + tokens.whole * allStates;
      const float inward = tokens.inward[0][t] + tokens.inward[1][t];
      const float slope =
          (inward - rate * pull) * slopeOfSoftplus(tokens.raw[t]);
      call.stepShares[call.shareAt(unit, part,
                                   (tile - span.firstTile) * side + t)] = slope;
      sums[0] -= double(rate * tokens.step[t] * pull);
      sums[1] += double(tokens.skips[t]);
      sums[2] += double(slope);
    }
    total.aLog += acrossLanes(sums[0], 32, Plus());
    total.d += acrossLanes(sums[1], 32, Plus());
    total.dtBias += acrossLanes(sums[2], 32, Plus());
  }

  const ScanCall<Bf16>& call;
  const ScanInputs<Bf16>& in;
  const ScanSpan& span;
  const Tile<width> b, c;                         // [tokens, state]
  const Tile<width> before, owed;                 // [channels, state]: S and E
  const Tile<side> x, dy;                         // [tokens, channels]
  const Tile<side> weighted;                      // e D x, or f dy
  const Tile<side> scores, slopes, steppedSlopes; // [i, j]: L K, L W, L W D
  float* const products;                          // [i, j]: L K W D
  Tokens& tokens;
  const int lane, warp, firstRow, half, unit, part;
  const ScanHead at;
  const int firstChannel, channels;
  const float rate, skip;
  Wide states, owes;        // S and E
  ParameterSums total = {}; // of the first warp
};

template <int width>
__global__ __launch_bounds__(256, 1) void scanBackBf16(
    const __grid_constant__ ScanCall<Bf16> call,
    const __grid_constant__ ScanSpan span) {
  extern __shared__ __align__(128) char room[];
  TensorScanBlock<width>(call, span, room).run();
}

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_SSM_STATESCANBACKWARDBF16_CUH
