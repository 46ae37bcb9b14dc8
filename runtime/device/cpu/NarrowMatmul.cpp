// Matmuls of few rows by a weight matrix that is read once.
//
// 1. Copy A in groups of up to 8 rows, [groups][steps of k][rows], padded with
//    zeros.
// 2. Divide the columns of C, which are rows of W, among the threads. For a few
//    columns at a time and each group of rows: keep their sums in registers, as
//    vectors over k, and read W along k.
// 3. Add the lanes of each sum, and store it.
//
// The loops are compiled for AVX-512 with bf16 dot products, AVX-512, AVX2 and
// the processor that the build targets; NarrowTiles.cpp has the loops for AMX.
// The best ones that the processor supports are used.

#include "runtime/device/cpu/NarrowMatmul.h"

#include "runtime/device/cpu/NarrowLoops.h"
#include "runtime/device/cpu/Parallel.h"

#include <algorithm>
#include <cassert>
#include <type_traits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace reciperun::device {
namespace {

using plan::DType;

constexpr int64_t mostNarrowRows = 64;
constexpr int64_t mostBlockRows = 8;
constexpr int64_t columnGrain = 16;

using NarrowFloats [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] =
    float;
/// A vector of pairs of bf16, aligned to a single bf16.
using NarrowWords [[gnu::vector_size(64), gnu::aligned(2), gnu::may_alias]] =
    uint32_t;

/// The number of columns of the next block when `left` columns remain, in a
/// matmul of `rows` rows.
int64_t blockColumns(int64_t rows, int64_t left) {
  const int64_t most = rows > 4 ? 3 : 4;
  return left < most ? 1 : most;
}

/// The rows of a block, padded to a size that has a loop.
int64_t blockRows(int64_t rows) {
  return rows > 4 ? 8 : rows > 2 ? 4 : rows;
}

template <int value> using Count = std::integral_constant<int, value>;

/// Calls body(rows, columns) with the block's sizes as compile-time constants.
/// `columns` is from blockColumns; a block holds up to 8 of the `rows` rows.
template <class Body>
void withBlock(int64_t rows, int64_t columns, Body&& body) {
  auto withColumns = [&](auto height) {
    if (columns == 1)
      return body(height, Count<1>());
    if constexpr (height.value < 8)
      if (columns == 4)
        return body(height, Count<4>());
    body(height, Count<3>());
  };
  switch (blockRows(std::min(rows, mostBlockRows))) {
  case 1:
    return withColumns(Count<1>());
  case 2:
    return withColumns(Count<2>());
  case 4:
    return withColumns(Count<4>());
  default:
    return withColumns(Count<8>());
  }
}

#if defined(__x86_64__)
namespace avx512Dots {
#define NARROW_TARGET                                                          \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#define NARROW_HAS_DOTS 1
#include "runtime/device/cpu/NarrowBlocks.inc"
#undef NARROW_TARGET
#undef NARROW_HAS_DOTS
} // namespace avx512Dots

#define NARROW_HAS_DOTS 0
namespace avx512 {
#define NARROW_TARGET                                                          \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#include "runtime/device/cpu/NarrowBlocks.inc"
#undef NARROW_TARGET
} // namespace avx512

namespace avx2 {
#define NARROW_TARGET __attribute__((target("avx2,fma")))
#include "runtime/device/cpu/NarrowBlocks.inc"
#undef NARROW_TARGET
} // namespace avx2
#undef NARROW_HAS_DOTS
#endif

namespace portable {
#define NARROW_HAS_DOTS 0
#define NARROW_TARGET
#include "runtime/device/cpu/NarrowBlocks.inc"
#undef NARROW_TARGET
#undef NARROW_HAS_DOTS
} // namespace portable

/// Copies A [m,k] into the layout of a set of loops.
template <class Lanes>
void packRows(const Gemm::Shape& shape, const void* a, AlignedBuffer& room) {
  using Stored = typename Lanes::Stored;
  using Packed = typename Lanes::Packed;
  const int64_t steps = (shape.k + Lanes::step - 1) / Lanes::step;
  const int64_t lastRows = blockRows((shape.m - 1) % mostBlockRows + 1);
  const int64_t rows = (shape.m - 1) / mostBlockRows * mostBlockRows + lastRows;
  auto* to = static_cast<Packed*>(
      room.reserve(size_t(rows * steps * Lanes::packed) * sizeof(Packed)));
  for (int64_t first = 0; first < rows; first += mostBlockRows) {
    const int64_t height = std::min(mostBlockRows, rows - first);
    for (int64_t s = 0; s < steps; ++s)
      for (int64_t i = first; i < first + height; ++i, to += Lanes::packed) {
        const int64_t from = s * Lanes::step;
        const auto* row = static_cast<const Stored*>(a) + i * shape.k + from;
        if (i < shape.m && from + Lanes::step <= shape.k) {
          Lanes::pack(row, to);
          continue;
        }
        Stored last[Lanes::step] = {};
        if (i < shape.m)
          std::copy_n(row, shape.k - from, last);
        Lanes::pack(last, to);
      }
  }
}

#define NARROW_LOOPS(isa, Lanes)                                               \
  NarrowLoops {                                                                \
    packRows<isa::Lanes>, isa::multiplyColumns<isa::Lanes>                     \
  }

/// Whether the processor supports the instruction set.
bool supports(NarrowInstructions instructions) {
  switch (instructions) {
  case NarrowInstructions::portable:
    return true;
#if defined(__x86_64__)
  case NarrowInstructions::avx2:
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  case NarrowInstructions::avx512:
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  case NarrowInstructions::avx512Bf16:
    return supports(NarrowInstructions::avx512) &&
           __builtin_cpu_supports("avx512bf16");
#endif
  case NarrowInstructions::amx:
    return tileLoops().multiply != nullptr;
  default:
    return false;
  }
}

NarrowLoops loopsFor(DType type, NarrowInstructions instructions) {
  const bool isBf16 = type == DType::bf16;
  switch (instructions) {
#if defined(__x86_64__)
  case NarrowInstructions::avx2:
    return isBf16 ? NARROW_LOOPS(avx2, Bf16Lanes)
                  : NARROW_LOOPS(avx2, F32Lanes);
  case NarrowInstructions::avx512:
    return isBf16 ? NARROW_LOOPS(avx512, Bf16Lanes)
                  : NARROW_LOOPS(avx512, F32Lanes);
  case NarrowInstructions::avx512Bf16:
    return isBf16 ? NARROW_LOOPS(avx512Dots, Bf16Lanes)
                  : NARROW_LOOPS(avx512, F32Lanes);
  case NarrowInstructions::amx:
    return isBf16 ? tileLoops() : NARROW_LOOPS(avx512, F32Lanes);
#endif
  default:
    return isBf16 ? NARROW_LOOPS(portable, Bf16Lanes)
                  : NARROW_LOOPS(portable, F32Lanes);
  }
}

} // namespace

std::vector<NarrowInstructions> narrowInstructions() {
  std::vector<NarrowInstructions> known;
  for (NarrowInstructions each :
       {NarrowInstructions::amx, NarrowInstructions::avx512Bf16,
        NarrowInstructions::avx512, NarrowInstructions::avx2,
        NarrowInstructions::portable})
    if (supports(each))
      known.push_back(each);
  return known;
}

bool isNarrow(const Gemm::Shape& shape) {
  const bool isKnown =
      shape.input == DType::bf16 ||
      (shape.input == DType::f32 && shape.output == DType::f32);
  return isKnown && !shape.transposeA && shape.transposeB &&
         shape.m <= mostNarrowRows;
}

void narrowMatmul(const Gemm::Shape& shape, const void* a, const void* w,
                  void* c, AlignedBuffer& packed, int threads) {
  static const NarrowInstructions best = narrowInstructions().front();
  narrowMatmul(shape, a, w, c, packed, threads, best);
}

void narrowMatmul(const Gemm::Shape& shape, const void* a, const void* w,
                  void* c, AlignedBuffer& packed, int threads,
                  NarrowInstructions instructions) {
  assert(isNarrow(shape) && "a matmul of few rows");
  const NarrowLoops loops = loopsFor(shape.input, instructions);
  loops.pack(shape, a, packed);
  const NarrowCall call{shape, packed.reserve(0), w, c};
  parallelFor(
      threadsFor(threads, shape.m * shape.n * shape.k), shape.n, columnGrain,
      [&](int64_t begin, int64_t end) { loops.multiply(call, begin, end); });
}

} // namespace reciperun::device
