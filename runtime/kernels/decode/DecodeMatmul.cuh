// The matmuls of a phase, by the tensor cores. A warp reads 512 consecutive
// bytes of a row, a line: each lane 16 of them, and has the vector's elements
// at the same columns. In a multiplication m16n8k16, lines of two rows are the
// 16 x 16 operand, whose rows are 8 strips of each line, and the vector's
// strips are the 8 columns of the other operand. The sum of a row is the sum of
// the products of equal strips, the diagonal.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEMATMUL_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEMATMUL_CUH

#include "runtime/kernels/activation/Swiglu.cuh"
#include "runtime/kernels/decode/DecodeRing.cuh"
#include "runtime/kernels/decode/DecodeVector.cuh"

namespace reciperun::kernels::decode {

/// The sums of kept rows over the strips of all warps' lines.
inline constexpr int strips = 8;
struct RowSums {
  using Row = float[computingWarps * strips];
  Row rows[keptRows];
};

/// Sums [strips of two rows, strips of the vector].
using StripSums = float[4];

/// Adds the products of lines `line` of the vector and of pairs of rows.
template <Stored stored, int lines, int pairs>
__device__ __forceinline__ void
multiplyLines(StripSums (&sums)[pairs], const uint4 (&first)[pairs],
              const uint4 (&second)[pairs],
              const DecodeVector<stored, lines>& x, int line) {
  auto word = [](const uint4& of, int i) {
    return i == 0 ? of.x : i == 1 ? of.y : i == 2 ? of.z : of.w;
  };
  // Multiplications of different pairs do not wait for each other.
  if constexpr (stored == Stored::bf16) {
#pragma unroll
    for (int i = 0; i < 4; i += 2)
#pragma unroll
      for (int pair = 0; pair < pairs; ++pair) {
        const uint32_t left[] = {word(first[pair], i), word(second[pair], i),
                                 word(first[pair], i + 1),
                                 word(second[pair], i + 1)};
        cuda::multiply<Bf16>(sums[pair], left, x.pair(line, i),
                             x.pair(line, i + 1));
      }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int pair = 0; pair < pairs; ++pair) {
        const cuda::ElementPairs a =
            cuda::widenPairs<__nv_fp8_e4m3>(word(first[pair], i));
        const cuda::ElementPairs b =
            cuda::widenPairs<__nv_fp8_e4m3>(word(second[pair], i));
        const uint32_t left[] = {a.first, b.first, a.second, b.second};
        cuda::multiply<__half>(sums[pair], left, x.pair(line, 2 * i),
                               x.pair(line, 2 * i + 1));
      }
  }
}

/// Stores the diagonals of two rows, or of the first, to consecutive rows.
__device__ __forceinline__ void
storeDiagonals(const StripSums& sums, bool hasSecond, RowSums::Row* to) {
  const int lane = int(threadIdx.x) % 32, strip = lane / 4;
  if (lane % 4 != strip / 2)
    return;
  const int at = int(threadIdx.x) / 32 * strips + strip;
  const bool isOdd = strip % 2;
  to[0][at] = isOdd ? sums[1] : sums[0];
  if (hasSecond)
    to[1][at] = isOdd ? sums[3] : sums[2];
}

/// Multiplies slots of rows of up to `lines` lines. Pairs of rows are
/// multiplied together; a single row's lines are four pairs without second
/// rows, whose sums are added.
template <Stored stored, int lines> class SlotProducts {
public:
  static constexpr int rowsOfSlot = slotLines / lines;

  __device__ __forceinline__ SlotProducts(const DecodeVector<stored, lines>& x,
                                          int rowBytes)
      : x(x), rowBytes(rowBytes) {}

  /// Takes a slot, and stores the sums of its rows from `to` on.
  __device__ __forceinline__ void take(RingPlace& place, RowSums::Row* to) {
    uint4 weights[rowsOfSlot][lines];
    place.waitUntilFull();
    // Rows that are not there are multiplied, too; nothing reads their sums.
#pragma unroll
    for (int row = 0; row < rowsOfSlot; ++row)
#pragma unroll
      for (int line = 0; line < lines; ++line)
        weights[row][line] = read(place.bytes() + row * rowBytes, line);
    place.free().arrive();
    place.advance();
    if constexpr (rowsOfSlot > 1)
      multiplyRows(weights, to);
    else
      multiplyRow(weights[0], to);
  }

private:
  /// The lane's bytes of a line, 0 after the row's end.
  __device__ __forceinline__ uint4 read(const uint8_t* row, int line) const {
    const int offset = line * lineBytes + int(threadIdx.x) * int(sizeof(uint4));
    return offset < rowBytes ? *reinterpret_cast<const uint4*>(row + offset)
                             : uint4{};
  }

  __device__ __forceinline__ void
  multiplyRows(const uint4 (&weights)[rowsOfSlot][lines],
               RowSums::Row* to) const {
    constexpr int pairs = rowsOfSlot / 2;
    StripSums sums[pairs] = {};
#pragma unroll
    for (int line = 0; line < lines; ++line) {
      uint4 first[pairs], second[pairs];
#pragma unroll
      for (int i = 0; i < pairs; ++i) {
        first[i] = weights[2 * i][line];
        second[i] = weights[2 * i + 1][line];
      }
      multiplyLines(sums, first, second, x, line);
    }
#pragma unroll
    for (int i = 0; i < pairs; ++i)
      storeDiagonals(sums[i], true, to + 2 * i);
  }

  __device__ __forceinline__ void multiplyRow(const uint4 (&weights)[lines],
                                              RowSums::Row* to) const {
    constexpr int chains = 4;
    StripSums sums[chains][1] = {};
#pragma unroll
    for (int line = 0; line < lines; ++line)
      multiplyLines(sums[line % chains], {weights[line]}, {uint4{}}, x, line);
    StripSums all = {};
#pragma unroll
    for (const auto& chain : sums)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        all[i] += chain[0][i];
    storeDiagonals(all, false, to);
  }

  const DecodeVector<stored, lines>& x;
  const int rowBytes;
};

/// The row of the kept groups whose result a thread writes. Eight threads have
/// the same one; rows of the first and of the second group take turns.
class WrittenRow {
  static constexpr int threads = computingThreads / keptRows;

public:
  /// Of the groups from `first` on. Loads what does not depend on phases
  /// before.
  __device__ __forceinline__ WrittenRow(const MatmulPhase& of,
                                        const BlockRows& rows, int first)
      : of(&of) {
    const int group = first + number() % keptGroups;
    if (group >= rows.groups())
      return;
    const RowGroup found = rows.group(group);
    if (number() / keptGroups >= found.rows)
      return;
    product = &found.product;
    row = found.row + number() / keptGroups;
    if (product->scales)
      scale = __ldg(product->scales + int64_t(row) * of.scaleStride);
  }
  __device__ __forceinline__ void loadBase() {
    if (product && product->base)
      base = float(__ldcg(product->base + row));
  }

  /// Writes the result. All lanes of the warp call it.
  __device__ __forceinline__ void write(const RowSums& sums,
                                        float power) const {
    const float total = sum(sums);
    const float own = product ? value(total, power) : 0.0f;
    const bool isFirst = product && threadIdx.x % threads == 0;
    if (of->result == Result::products) {
      if (isFirst)
        product->y[row] = rounded<Bf16>(own);
      return;
    }
    // The second factor is a row of the second group.
    const float other = __shfl_down_sync(~0u, own, threads);
    if (isFirst && number() % keptGroups == 0)
      of->gated[row] = rounded<Bf16>(swiglu::Forward()(
          float(rounded<Bf16>(own)), float(rounded<Bf16>(other))));
  }

private:
  __device__ __forceinline__ static int number() {
    return int(threadIdx.x) / threads;
  }

  /// The sum of the row's strips.
  __device__ __forceinline__ static float sum(const RowSums& sums) {
    constexpr int all = computingWarps * strips, own = all / threads;
    const float* const from =
        sums.rows[number() % keptGroups * groupRows + number() / keptGroups] +
        threadIdx.x % threads * own;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < own; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i);
      sum += (four.x + four.y) + (four.z + four.w);
    }
#pragma unroll
    for (int far = threads / 2; far; far /= 2)
      sum += __shfl_xor_sync(~0u, sum, far);
    return sum;
  }

  __device__ __forceinline__ float value(float sum, float power) const {
    sum *= scale * power;
    if (product->base && of->roundsFirst)
      return float(rounded<Bf16>(product->alpha * sum)) + base;
    return fmaf(product->alpha, sum, base);
  }

  const MatmulPhase* of;
  const Product* product = nullptr;
  int row = 0;
  float scale = 1, base = 0;
};

/// What the computing threads of a block share in a phase of matmuls. The sums
/// of one set of groups are read while others are written.
struct alignas(16) MatmulRoom {
  RowSums sums[2];
  float2 limits[computingWarps];
};

/// Runs phase `number`, with rows of at most `lines`, when the phases before it
/// have ended. Returns the place after its slots.
template <Stored stored, int lines>
__device__ __forceinline__ RingPlace runLines(const MatmulPhase& of, int number,
                                              const PhaseCount& ended,
                                              RingPlace place,
                                              MatmulRoom& room) {
  const BlockRows rows(of);
  DecodeVector<stored, lines> x(of);
  WrittenRow written(of, rows, 0);
  ended.waitFor(number);
  written.loadBase();
  x.load(room.limits);
  SlotProducts<stored, lines> products(x, bytesOfRow(of));
  for (int i = 0, turn = 0; i < rows.groups(); turn ^= 1) {
    const int next = min(i + keptGroups, rows.groups());
    for (RowSums::Row* to = room.sums[turn].rows; i < next;
         ++i, to += groupRows) {
      const int count = rows.group(i).rows;
      for (int row = 0; row < count; row += products.rowsOfSlot)
        products.take(place, to + row);
    }
    meet();
    written.write(room.sums[turn], x.scale());
    if (i < rows.groups()) {
      written = WrittenRow(of, rows, i);
      written.loadBase();
    }
  }
  return place;
}

template <Stored stored>
__device__ __forceinline__ RingPlace runMatmuls(const MatmulPhase& of,
                                                int number,
                                                const PhaseCount& ended,
                                                const RingPlace& place,
                                                MatmulRoom& room) {
  const int lines = linesOfRow(of);
  if (lines == 1)
    return runLines<stored, 1>(of, number, ended, place, room);
  if (lines == 2)
    return runLines<stored, 2>(of, number, ended, place, room);
  if constexpr (stored == Stored::bf16)
    if (lines == 8)
      return runLines<stored, 8>(of, number, ended, place, room);
  return runLines<stored, 4>(of, number, ended, place, room);
}

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEMATMUL_CUH
