// A token's attention to the pages of its sequence. A block computes up to four
// query heads of one key head, a chunk, for all positions or for a part of
// them. The last block of a chunk to be done merges the parts.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEATTENTION_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEATTENTION_CUH

#include "runtime/kernels/common/Vectors.cuh"
#include "runtime/kernels/decode/DecodeBarrier.cuh"

namespace reciperun::kernels::decode {

/// The part of a token's attention that a block computes, in each layer.
struct AttentionPart {
  int heads; // query heads of the chunk
  int parts; // that divide the positions
  int chunk, part;
  int begin, end; // of the positions; end includes the token's own
  bool isThere;

  AttentionPart() = default;
  __device__ __forceinline__ AttentionPart(const cuda::PagedStep& paged,
                                           int position) {
    const int first = position < 0 ? 0 : paged.firstSeen(position);
    const int count = position + 1 - first;
    heads = min(paged.shape.group(), chunkHeads);
    const int chunks = paged.shape.heads / heads;
    parts = max(1, min(min(mostParts, int(gridDim.x) / chunks),
                       (count + loadedPositions - 1) / loadedPositions));
    chunk = int(blockIdx.x) / parts;
    part = int(blockIdx.x) % parts;
    isThere = chunk < chunks;
    begin = first + partBegin(count, part, parts);
    end = first + partBegin(count, part + 1, parts);
  }
  __device__ __forceinline__ int head() const { return chunk * heads; }

  /// The first of the positions that a warp loads at once.
  __device__ __forceinline__ int firstOfWarp() const {
    return begin + int(threadIdx.x) / 32 * positionsOfWarp;
  }
  /// Of the positions from `first` on, the slot of that with the lane's number;
  /// -1 for the token's own and for those of other warps and blocks. It is the
  /// same in all layers.
  __device__ __forceinline__ int slotOfLane(const cuda::PagedStep& paged,
                                            int position, int first) const {
    const int lane = int(threadIdx.x) % 32, at = first + lane;
    return isThere && lane < positionsOfWarp && at < min(end, position)
               ? int(paged.slotOf(paged.tokens.sequences[0], at))
               : -1;
  }
};

/// Loads the keys and values of a block's part to the L2 cache. Called by a
/// warp.
__device__ __forceinline__ void prefetchPositions(const cuda::PagedStep& paged,
                                                  const AttentionPhase& of,
                                                  const AttentionPart& own,
                                                  int position) {
  if (position < 0 || !own.isThere)
    return;
  const int width = paged.shape.width;
  const int keyHead = own.head() / paged.shape.group();
  const int sequence = paged.tokens.sequences[0];
  for (int at = own.begin + int(threadIdx.x) % 32; at < min(own.end, position);
       at += 32) {
    const int64_t row = paged.rowOf(sequence, at) + keyHead * width;
    for (int i = 0; i < width; i += 64)
      for (const Bf16* pages : {of.keys, of.values})
        asm volatile("prefetch.global.L2 [%0];" ::"l"(pages + row + i));
  }
}

/// What a block shares in a phase of attention, for heads of `width`.
template <int width> struct alignas(16) PartRoom {
  float queries[chunkHeads][width];
  Bf16 key[width], value[width]; // of the token itself
  float most[computingWarps][chunkHeads], powers[computingWarps][chunkHeads];
  float sums[computingWarps][chunkHeads][width];
  bool isLast;
};

/// Sums of 2 n values over a warp: lanes i * (16 / n) and those after it have
/// that of values[i]. A recursion, because a loop's indices would not be
/// constants, and the values in local memory.
template <int n>
__device__ __forceinline__ float sumOfLanes(float (&values)[2 * n]) {
  constexpr int far = 2 * n;
  const bool isUpper = threadIdx.x & far;
  float halves[n];
#pragma unroll
  for (int i = 0; i < n; ++i) {
    const float given = isUpper ? values[i] : values[i + n];
    const float kept = isUpper ? values[i + n] : values[i];
    halves[i] = kept + __shfl_xor_sync(~0u, given, far);
  }
  if constexpr (n > 1)
    return sumOfLanes<n / 2>(halves);
  else
    return halves[0] + __shfl_xor_sync(~0u, halves[0], 1);
}

/// The running attention of a warp. A lane has some elements of all heads'
/// sums, and of head lane / 8 the maximum and the sum of the powers.
template <int width> class WarpAttention {
public:
  static constexpr int n = width / 32, together = 4;

  __device__ __forceinline__ WarpAttention(const cuda::AttentionShape& shape,
                                           const PartRoom<width>& room)
      : rule(shape) {
#pragma unroll
    for (int h = 0; h < chunkHeads; ++h)
#pragma unroll
      for (int e = 0; e < n; ++e)
        queries[h][e] = room.queries[h][element(e)];
  }

  /// The lane's elements of rows of up to `together` positions.
  using Rows = Vector<Bf16, n>[together];

  /// Takes `count` positions.
  __device__ __forceinline__ void take(const Rows& keys, const Rows& values,
                                       int count) {
    const int lane = int(threadIdx.x) % 32;
    float scores[chunkHeads * together];
#pragma unroll
    for (int h = 0; h < chunkHeads; ++h)
#pragma unroll
      for (int i = 0; i < together; ++i) {
        float product = 0;
#pragma unroll
        for (int e = 0; e < n; ++e)
          product = fmaf(queries[h][e], keys[i][e], product);
        scores[h * together + i] = product;
      }
    // Lanes 2 i and 2 i + 1 have score i.
    const float sum = sumOfLanes<8>(scores);
    const float score =
        lane / 2 % together < count ? rule.score(sum) : cuda::nothingSeenYet;
    float highest = fmaxf(score, __shfl_xor_sync(~0u, score, 2));
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 4));
    highest = fmaxf(highest, most);
    const float before = cuda::powerOf2(most - highest);
    const float power = cuda::powerOf2(score - highest);
    float added = power + __shfl_xor_sync(~0u, power, 2);
    added += __shfl_xor_sync(~0u, added, 4);
    powers = powers * before + added;
    most = highest;
#pragma unroll
    for (int h = 0; h < chunkHeads; ++h) {
      const float kept = __shfl_sync(~0u, before, 8 * h);
#pragma unroll
      for (int e = 0; e < n; ++e)
        sums[h][e] *= kept;
#pragma unroll
      for (int i = 0; i < together; ++i) {
        const float own = __shfl_sync(~0u, power, 8 * h + 2 * i);
#pragma unroll
        for (int e = 0; e < n; ++e)
          sums[h][e] = fmaf(own, values[i][e], sums[h][e]);
      }
    }
  }

  __device__ __forceinline__ void store(PartRoom<width>& room) const {
    const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
    if (lane % 8 == 0) {
      room.most[warp][lane / 8] = most;
      room.powers[warp][lane / 8] = powers;
    }
#pragma unroll
    for (int h = 0; h < chunkHeads; ++h)
#pragma unroll
      for (int e = 0; e < n; ++e)
        room.sums[warp][h][element(e)] = sums[h][e];
  }

private:
  __device__ __forceinline__ static int element(int e) {
    return int(threadIdx.x) % 32 * n + e;
  }

  cuda::ScoreRule rule;
  float queries[chunkHeads][n], sums[chunkHeads][n] = {};
  float most = cuda::nothingSeenYet, powers = 0;
};

template <int width> class AttentionRun {
  static constexpr int together = WarpAttention<width>::together;
  using Rows = typename WarpAttention<width>::Rows;
  static constexpr int loads = positionsOfWarp / together;

public:
  /// Loads what does not depend on phases before. `slot` is that of the lane's
  /// first position.
  __device__ __forceinline__ AttentionRun(const DecodeStep& step,
                                          const AttentionPhase& of,
                                          const AttentionPart& own,
                                          int position, int slot,
                                          const float2* angles,
                                          PartRoom<width>& room)
      : step(step), of(of), paged(step.paged), own(own), angles(angles),
        room(room), position(position) {
#pragma unroll
    for (int i = 0; i < loads; ++i)
      load(i, slot);
  }

  /// Runs the phase. The phases before it have ended.
  __device__ __forceinline__ void run() {
    if (!own.isThere)
      return;
    if (position < 0) {
      forResults([&](int, int head, int element) { write(head, element, 0); });
      return;
    }
    loadQueries();
    if (hasOwn())
      takeOwn();
    meet();
    attend();
    meet();
    if (own.parts == 1)
      writeOut();
    else
      storePart();
  }

private:
  /// Rotates pair `pair` of a head's elements, and rounds.
  template <class T>
  __device__ __forceinline__ void rotate(const Bf16* from, int pair, T* to,
                                         Bf16* stored) const {
    const cuda::Rotation& by = step.rotation;
    const int at = by.offsetOf(pair), far = by.template distance<1>();
    const float a = float(__ldcg(from + at));
    const float b = float(__ldcg(from + at + far));
    const float c = angles[pair].x, s = angles[pair].y;
    const Bf16 turned[2] = {rounded<Bf16>(a * c - b * s),
                            rounded<Bf16>(b * c + a * s)};
    to[at] = T(turned[0]);
    to[at + far] = T(turned[1]);
    if (stored) {
      stored[at] = turned[0];
      stored[at + far] = turned[1];
    }
  }

  /// Rotates a head, or copies it, by `threads` threads from `thread` on.
  template <class T>
  __device__ __forceinline__ void turn(const Bf16* from, int half, int thread,
                                       int threads, T* to, Bf16* stored) const {
    for (int i = thread; i < half; i += threads)
      rotate(from, i, to, stored);
    for (int i = 2 * half + thread; i < width; i += threads) {
      const Bf16 element = __ldcg(from + i);
      to[i] = T(element);
      if (stored)
        stored[i] = element;
    }
  }

  __device__ __forceinline__ int half() const {
    return step.rotates ? step.rotation.half : 0;
  }

  __device__ __forceinline__ void loadQueries() {
    constexpr int threads = computingThreads / chunkHeads;
    const int head = int(threadIdx.x) / threads;
    const int thread = int(threadIdx.x) % threads;
    if (head < own.heads)
      turn(of.q + (own.head() + head) * width, half(), thread, threads,
           room.queries[head], nullptr);
    else
      for (int i = thread; i < width; i += threads)
        room.queries[head][i] = 0;
  }

  /// Takes the token's own key and value. The first chunk of a key head writes
  /// them to their page.
  __device__ __forceinline__ void takeOwn() {
    const int group = paged.shape.group(), keyHead = own.head() / group;
    const int64_t at =
        paged.rowOf(paged.tokens.sequences[0], position) + keyHead * width;
    const bool isWritten = own.head() % group == 0;
    constexpr int threads = computingThreads / 2;
    const int thread = int(threadIdx.x) % threads;
    if (int(threadIdx.x) < threads)
      turn(of.k + keyHead * width, half(), thread, threads, room.key,
           isWritten ? of.keys + at : nullptr);
    else
      turn(of.v + keyHead * width, 0, thread, threads, room.value,
           isWritten ? of.values + at : nullptr);
  }

  /// The end of the positions whose keys and values are in the pages.
  __device__ __forceinline__ int storedEnd() const {
    return min(own.end, position);
  }
  __device__ __forceinline__ bool hasOwn() const {
    return own.end == position + 1;
  }

  /// Starts load `number` of a warp's positions, of which `slot` is that of the
  /// lane's. No load waits for another one.
  __device__ __forceinline__ void load(int number, int slot) {
    const int element = own.head() / paged.shape.group() * width +
                        int(threadIdx.x) % 32 * (width / 32);
#pragma unroll
    for (int i = 0; i < together; ++i) {
      const int place = __shfl_sync(~0u, slot, number * together + i);
      const int64_t row = place * paged.keyRow() + element;
      if (place >= 0) {
        keys[number][i] = keys[number][i].load(of.keys + row);
        values[number][i] = values[number][i].load(of.values + row);
      }
    }
  }

  __device__ __forceinline__ void attend() {
    WarpAttention<width> attention(paged.shape, room);
    for (int first = own.firstOfWarp(); first < storedEnd();
         first += loadedPositions) {
      const int next = own.slotOfLane(paged, position, first + loadedPositions);
#pragma unroll
      for (int i = 0; i < loads; ++i) {
        const int at = first + i * together;
        if (at >= storedEnd())
          break;
        attention.take(keys[i], values[i], min(together, storedEnd() - at));
        load(i, next);
      }
    }
    if (hasOwn() && int(threadIdx.x) / 32 == computingWarps - 1) {
      const int element = int(threadIdx.x) % 32 * (width / 32);
      keys[0][0] = keys[0][0].load(room.key + element);
      values[0][0] = values[0][0].load(room.value + element);
      attention.take(keys[0], values[0], 1);
    }
    attention.store(room);
  }

  /// A head's maximum over the warps and its sum of powers.
  __device__ __forceinline__ float2 limits(int head) const {
    float2 all = {cuda::nothingSeenYet, 0};
#pragma unroll
    for (int w = 0; w < computingWarps; ++w)
      all.x = fmaxf(all.x, room.most[w][head]);
#pragma unroll
    for (int w = 0; w < computingWarps; ++w)
      all.y +=
          cuda::powerOf2(room.most[w][head] - all.x) * room.powers[w][head];
    return all;
  }
  __device__ __forceinline__ float sum(int head, int element,
                                       float most) const {
    float all = 0;
#pragma unroll
    for (int w = 0; w < computingWarps; ++w)
      all += cuda::powerOf2(room.most[w][head] - most) *
             room.sums[w][head][element];
    return all;
  }

  /// The results of a thread, at most.
  static constexpr int results = chunkHeads * width / computingThreads;

  /// Calls body(number, head of the chunk, element) for the thread's results.
  template <class Body>
  __device__ __forceinline__ void forResults(Body body) const {
#pragma unroll
    for (int i = 0; i < results; ++i) {
      const int at = i * computingThreads + int(threadIdx.x);
      if (at < own.heads * width)
        body(i, at / width, at % width);
    }
  }

  __device__ __forceinline__ void write(int head, int element,
                                        float value) const {
    of.out[(own.head() + head) * width + element] = rounded<Bf16>(value);
  }

  __device__ __forceinline__ void writeOut() const {
    forResults([&](int, int head, int element) {
      const float2 all = limits(head);
      write(head, element, sum(head, element, all.x) / all.y);
    });
  }

  /// Stores the block's part, and merges all if it is the last one.
  __device__ __forceinline__ void storePart() const {
    forResults([&](int, int head, int element) {
      const float2 all = limits(head);
      const int64_t number = numberOf(head, own.part);
      step.sums[number * width + element] = sum(head, element, all.x);
      if (element == 0)
        step.limits[number] = all;
    });
    meet();
    if (threadIdx.x == 0) {
      unsigned& done = step.counters->parts[own.chunk];
      room.isLast = addToCounter(done) == unsigned(own.parts) - 1;
      if (room.isLast)
        done = 0;
    }
    meet();
    if (room.isLast)
      merge();
  }

  /// Merges the parts. All loads are in flight before the first write.
  __device__ __forceinline__ void merge() const {
    float sums[results][mostParts] = {};
    float2 limits[results][mostParts] = {};
    forResults([&](int i, int head, int element) {
#pragma unroll
      for (int part = 0; part < mostParts; ++part) {
        if (part >= own.parts)
          break;
        const int64_t number = numberOf(head, part);
        sums[i][part] = __ldcg(step.sums + number * width + element);
        limits[i][part] = __ldcg(step.limits + number);
      }
    });
    forResults([&](int i, int head, int element) {
      float most = cuda::nothingSeenYet, sum = 0, powers = 0;
#pragma unroll
      for (int part = 0; part < mostParts; ++part)
        if (part < own.parts)
          most = fmaxf(most, limits[i][part].x);
#pragma unroll
      for (int part = 0; part < mostParts; ++part) {
        if (part >= own.parts)
          break;
        const float factor = cuda::powerOf2(limits[i][part].x - most);
        sum = fmaf(factor, sums[i][part], sum);
        powers = fmaf(factor, limits[i][part].y, powers);
      }
      write(head, element, sum / powers);
    });
  }

  __device__ __forceinline__ int64_t numberOf(int head, int part) const {
    return int64_t(own.head() + head) * mostParts + part;
  }

  const DecodeStep& step;
  const AttentionPhase& of;
  const cuda::PagedStep& paged;
  const AttentionPart& own;
  const float2* angles;
  PartRoom<width>& room;
  const int position;
  Rows keys[loads] = {}, values[loads] = {}; // of the next positions
};

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEATTENTION_CUH
