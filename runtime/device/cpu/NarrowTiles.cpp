// Matmuls of few rows in bf16 by the matrix tiles of AMX (Intel architecture
// instruction set extensions, chapter "AMX").
//
// A tile has 16 rows of 64 bytes. C^T = W A^T, so that a tile of W is 16 rows
// by 32 elements of memory as it is. A is packed [groups of 16 rows][steps of
// 32 elements][pairs of elements][rows], the layout of the right operand.
//
// For 16 or 32 rows of W, and up to 64 rows of A: keep the sums in tiles over
// the whole of k, then store them.

#include "runtime/device/cpu/NarrowLoops.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace reciperun::device {

#if defined(__x86_64__) && defined(__linux__)
namespace {

constexpr int64_t tileRows = 16;
constexpr int64_t tileStep = 32;                      // elements of k
constexpr int64_t tileElements = tileRows * tileStep; // of W or of A

#define TILE_TARGET __attribute__((target("amx-tile,amx-bf16")))

/// The operand of ldtilecfg.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0;
  uint8_t unused[14] = {};
  uint16_t bytes[16] = {}; // of a row
  uint8_t rows[16] = {};
};

int64_t roundedUp(int64_t count, int64_t unit) {
  return (count + unit - 1) / unit;
}

void packTiles(const Gemm::Shape& shape, const void* a, AlignedBuffer& packed) {
  const int64_t steps = roundedUp(shape.k, tileStep);
  const int64_t groups = roundedUp(shape.m, tileRows);
  const int64_t count = groups * steps * tileElements;
  auto* to = static_cast<bf16*>(packed.reserve(size_t(count) * sizeof(bf16)));
  std::fill_n(to, count, bf16());
  for (int64_t i = 0; i < shape.m; ++i) {
    const auto* row = static_cast<const bf16*>(a) + i * shape.k;
    bf16* own = to + i / tileRows * steps * tileElements + i % tileRows * 2;
    for (int64_t k = 0; k + 1 < shape.k; k += 2, own += 2 * tileRows)
      std::memcpy(static_cast<void*>(own), row + k, 2 * sizeof(bf16));
    if (shape.k % 2)
      own[0] = row[shape.k - 1];
  }
}

/// The tiles of a block: sums 0 to 3, weights 4 and 5, rows of A 6 and 7.
TILE_TARGET void shapeTiles(int64_t rows) {
  TileShapes shapes;
  for (int i = 0; i < 8; ++i) {
    shapes.bytes[i] = 64;
    shapes.rows[i] = uint8_t(i < 6 ? rows : tileRows);
  }
  _tile_loadconfig(&shapes);
}

/// One step of k: `blocks` tiles of W from `w` with a stride in bytes, by
/// `groups` tiles of A that are `groupBytes` apart.
template <int blocks, int groups>
[[gnu::always_inline]] TILE_TARGET inline void
multiplyTiles(const bf16* w, int64_t stride, const bf16* a,
              int64_t groupElements) {
  _tile_loadd(4, w, stride);
  if constexpr (blocks == 2)
    _tile_loadd(5, reinterpret_cast<const char*>(w) + tileRows * stride,
                stride);
  _tile_loadd(6, a, 64);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (blocks == 2)
    _tile_dpbf16ps(2, 5, 6);
  if constexpr (groups >= 2) {
    _tile_loadd(7, a + groupElements, 64);
    _tile_dpbf16ps(1, 4, 7);
    if constexpr (blocks == 2)
      _tile_dpbf16ps(3, 5, 7);
  }
  if constexpr (groups >= 3) {
    static_assert(blocks == 1, "there are eight tiles");
    _tile_loadd(6, a + 2 * groupElements, 64);
    _tile_dpbf16ps(2, 4, 6);
    _tile_loadd(7, a + 3 * groupElements, 64);
    _tile_dpbf16ps(3, 4, 7);
  }
}

/// Computes the rows of C^T from `column` on.
template <int blocks, int groups>
TILE_TARGET void multiplyRows(const NarrowCall& call, int64_t column,
                              int64_t rows) {
  const int64_t k = call.shape.k, steps = roundedUp(k, tileStep);
  const int64_t whole = k / tileStep;
  const auto* w = static_cast<const bf16*>(call.w) + column * k;
  const auto* a = static_cast<const bf16*>(call.packed);
  const int64_t groupElements = steps * tileElements;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < whole; ++s)
    multiplyTiles<blocks, groups>(w + s * tileStep, k * 2, a + s * tileElements,
                                  groupElements);
  if (whole < steps) {
    alignas(64) bf16 last[blocks * tileElements] = {};
    for (int64_t i = 0; i < std::min(rows, blocks * tileRows); ++i)
      std::copy_n(w + i * k + whole * tileStep, k - whole * tileStep,
                  last + i * tileStep);
    multiplyTiles<blocks, groups>(last, 64, a + whole * tileElements,
                                  groupElements);
  }
  alignas(64) float sums[4][tileRows * tileRows];
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
  for (int64_t block = 0; block < blocks; ++block)
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t i = 0; i < tileRows; ++i)
        for (int64_t j = 0; j < std::min(rows, tileRows); ++j)
          call.store(
              group * tileRows + i, column + block * tileRows + j,
              sums[blocks == 2 ? block * 2 + group : group][j * tileRows + i]);
}

template <int blocks, int groups>
TILE_TARGET void multiplyRange(const NarrowCall& call, int64_t begin,
                               int64_t end) {
  constexpr int64_t height = blocks * tileRows;
  shapeTiles(tileRows);
  for (; begin + height <= end; begin += height)
    multiplyRows<blocks, groups>(call, begin, height);
  for (; begin + tileRows <= end; begin += tileRows)
    multiplyRows<1, groups>(call, begin, tileRows);
  if (begin < end) {
    shapeTiles(end - begin);
    multiplyRows<1, groups>(call, begin, end - begin);
  }
  _tile_release();
}

void multiplyByTiles(const NarrowCall& call, int64_t begin, int64_t end) {
  if (call.shape.m <= tileRows)
    return multiplyRange<2, 1>(call, begin, end);
  if (call.shape.m <= 2 * tileRows)
    return multiplyRange<2, 2>(call, begin, end);
  multiplyRange<1, 4>(call, begin, end);
}

/// Whether the processor multiplies tiles of bf16, and the operating system
/// lets this process use them.
bool hasTiles() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
    return false;
  constexpr unsigned bf16Tiles = 1u << 22, tiles = 1u << 24;
  if (!(d & bf16Tiles) || !(d & tiles))
    return false;
  constexpr int requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

} // namespace

NarrowLoops tileLoops() {
  static const bool are = hasTiles();
  return are ? NarrowLoops{packTiles, multiplyByTiles} : NarrowLoops{};
}

#else

NarrowLoops tileLoops() {
  return {};
}

#endif

} // namespace reciperun::device
