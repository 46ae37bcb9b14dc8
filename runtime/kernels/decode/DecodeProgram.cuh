// The program of DecodeKernel.cuh: phases that the kernel computes one after
// another for one token. It is the kernel's argument.
//
// The outputs of a phase are divided among the blocks. All blocks have computed
// a phase before one starts the next.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEPROGRAM_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEPROGRAM_CUH

#include "runtime/kernels/attention/PagedStep.cuh"

#include <cstdint>

namespace reciperun::kernels::decode {

using Bf16 = __nv_bfloat16;

/// How a weight is stored.
enum class Stored : uint8_t { bf16, fp8 };

/// What is written: each product, or silu(first) * second.
enum class Result : uint8_t { products, gated };

/// y [n] = alpha w [n,k] x, times the scales of w's rows, + base.
struct Product {
  const uint8_t* w;
  const float* scales; // null in bf16
  const Bf16* base;    // [n], or null
  Bf16* y;             // null for gated products
  int n;
  float alpha;
};

inline constexpr int mostProducts = 3;

/// Matmuls of one vector, or of its RMSNorm, with weights of one type.
struct MatmulPhase {
  Product products[mostProducts];
  const Bf16* x;
  const Bf16* norm; // the weight; null: 1
  Bf16* gated;
  int k;
  float eps;
  Stored stored;
  Result result;
  uint8_t count;
  uint8_t scaleStride; // 0: all rows have one scale
  bool roundsFirst;    // the product to bf16, before base is added
  bool normalizes;
  bool isCentered; // 1 is added to the norm's weight
};

/// Rotation and writing of a token's key and value to the pages, and its
/// attention to the pages.
struct AttentionPhase {
  const Bf16 *q, *k, *v;
  Bf16 *keys, *values, *out;
};

struct Phase {
  enum class Kind : uint8_t { matmuls, attention };
  Kind kind;
  union {
    MatmulPhase matmuls;
    AttentionPhase attention;
  };
};

// The sizes of the kernel. Of a warpgroup more than the computing ones, one
// warp copies; the group leaves its registers to the others.
inline constexpr int computingWarps = 8, computingThreads = 32 * computingWarps;
inline constexpr int decodeThreads = computingThreads + 128;

/// The bytes of a row of weights that the computing threads read at once.
inline constexpr int lineBytes = computingThreads * int(sizeof(uint4));
/// A slot of the ring has several rows, or one.
inline constexpr int slotLines = 8, slotBytes = slotLines * lineBytes;
inline constexpr int slots = 6;
/// The most columns: each thread has those of its bytes in registers.
inline constexpr int mostColumns = 64 * computingThreads;
/// Rows of a product that a block computes before others, and groups of rows
/// whose sums it keeps before it writes results.
inline constexpr int groupRows = 16, keptGroups = 2;
inline constexpr int keptRows = keptGroups * groupRows;

/// The query heads of a block in attention, a chunk, and the positions whose
/// keys and values its threads load at once. Blocks, at most `mostParts`,
/// divide more positions.
inline constexpr int chunkHeads = 4, mostChunks = 255;
inline constexpr int loadedPositions = 128, mostParts = 16;
inline constexpr int positionsOfWarp = loadedPositions / computingWarps;

/// Counters in the device's memory, 0 between launches.
struct DecodeCounters {
  unsigned endedPhases;
  unsigned parts[mostChunks]; // of each chunk that are complete
};

/// What phases share.
struct DecodeStep {
  cuda::PagedStep paged;
  cuda::Rotation rotation;
  bool rotates;
  DecodeCounters* counters;
  // Parts of the attention: [heads, mostParts, width], and of each the maximum
  // and the sum of the powers, [heads, mostParts].
  float* sums;
  float2* limits;
};

/// The bytes that the driver takes as a kernel's arguments.
inline constexpr size_t mostProgramBytes = 32764;
inline constexpr int mostPhases =
    int((mostProgramBytes - sizeof(DecodeStep) - 8) / sizeof(Phase));

struct DecodeProgram {
  DecodeStep step;
  int count;
  Phase phases[mostPhases];
};

static_assert(sizeof(DecodeProgram) <= mostProgramBytes);

/// Part `index` of `parts` of `count`: the first one.
__device__ __forceinline__ int partBegin(int count, int index, int parts) {
  return int(unsigned(count) * unsigned(index) / unsigned(parts));
}

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEPROGRAM_CUH
