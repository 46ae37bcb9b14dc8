// Warpgroup matmul primitives of Hopper: the instructions m64n64k16 to
// m64n256k16 on bf16 with float accumulators and operands in shared memory, and
// the barriers and copies that load the operands.
//
// An operand has the summed dimension and an outer one: the rows of the left
// operand, the columns of the right one. A tile in shared memory consists of
// boxes as device::mapMatrices defines them: 64 columns of some rows, swizzled,
// aligned to 1024 bytes. If an operand's rows are the summed dimension
// (`across`), a box holds 64 summed rows by 64 outer elements, and the next box
// holds the next 64 outer elements. Otherwise the rows are the outer dimension,
// and a box holds 64 columns of the summed dimension. Descriptors: PTX ISA 8.5,
// 9.7.15.5.1, "Shared Memory Matrix Layout".

#ifndef RECIPERUN_KERNELS_COMMON_WARPGROUPMATMULS_CUH
#define RECIPERUN_KERNELS_COMMON_WARPGROUPMATMULS_CUH

#include <cstdint>

#include <cuda.h>
#include <cuda/ptx>

namespace reciperun::kernels::cuda {

namespace ptx = ::cuda::ptx;

/// A barrier in shared memory, at the same address in each block of a cluster.
/// Phases are numbered from 0. A phase is complete when all threads have
/// arrived and all expected bytes have been copied.
struct ClusterBarrier {
  uint64_t word;

  __device__ void open(uint32_t arrivals) {
    ptx::mbarrier_init(&word, arrivals);
  }
  /// Arrives, and adds `bytes` to the bytes that the phase expects from copies.
  __device__ void expect(uint32_t bytes) {
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta,
                                   ptx::space_shared, &word, bytes);
  }
  /// Arrives at the barrier of a block of the cluster. Earlier reads are
  /// complete, but other blocks may not see earlier writes: ordering a
  /// cluster's writes at each step takes 30 % of a matmul's time on an H200.
  __device__ void arriveAt(uint32_t block) {
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
                 "}" ::"r"(uint32_t(__cvta_generic_to_shared(&word))),
                 "r"(block)
                 : "memory");
  }
  /// Waits until phase `turn` is complete. It must be the current phase or the
  /// one before.
  __device__ void wait(uint32_t turn) {
    while (!ptx::mbarrier_try_wait_parity(&word, turn % 2)) {
    }
  }

  /// Like arriveAt() and wait(), for blocks that read what another block has
  /// written.
  __device__ void arriveWithWrites(uint32_t block) {
    asm volatile("{\n"
                 ".reg .b32 remote;\n"
                 "mapa.shared::cluster.u32 remote, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                 "[remote];\n"
                 "}" ::"r"(uint32_t(__cvta_generic_to_shared(&word))),
                 "r"(block)
                 : "memory");
  }
  __device__ void waitForWrites(uint32_t turn) {
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster,
                                          &word, turn % 2)) {
    }
  }
};

/// Stores a number at the same address in a block of the cluster.
__device__ inline void storeAt(uint32_t block, int32_t& place, int32_t number) {
  asm volatile("{\n"
               ".reg .b32 remote;\n"
               "mapa.shared::cluster.u32 remote, %0, %1;\n"
               "st.shared::cluster.b32 [remote], %2;\n"
               "}" ::"r"(uint32_t(__cvta_generic_to_shared(&place))),
               "r"(block), "r"(number)
               : "memory");
}

/// Starts to copy the box at (column, row, matrix) of a map.
__device__ inline void copyBox(const CUtensorMap& map, int column, int row,
                               int matrix, void* to, ClusterBarrier& barrier) {
  const int32_t at[] = {column, row, matrix};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, to, &map, at,
                            &barrier.word);
}
/// Starts to copy a box to all blocks of a cluster. It signals the barrier of
/// each block.
__device__ inline void copyBoxToAll(const CUtensorMap& map, int column, int row,
                                    int matrix, void* to,
                                    ClusterBarrier& barrier, uint16_t blocks) {
  const int32_t at[] = {column, row, matrix};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, to, &map, at,
                            &barrier.word, blocks);
}

template <int count> __device__ void giveRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> __device__ void takeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// The shared memory descriptor of an operand.
template <bool across> class OperandTile {
public:
  /// The stride between boxes of 64 outer elements by 64 summed rows.
  static constexpr int boxBytes = 64 * 128;

  __device__ explicit OperandTile(const void* data)
      : bits(uint64_t(__cvta_generic_to_shared(data) & 0x3ffff) >> 4 |
             (across ? uint64_t(boxBytes >> 4) : uint64_t(1)) << 16 |
             uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62) {}

  /// The descriptor of the `step`-th group of 16 summed elements.
  __device__ uint64_t at(int step) const {
    return bits + uint64_t(step * ((across ? 16 * 128 : 16 * 2) >> 4));
  }

private:
  uint64_t bits;
};

/// The 64 by 256 accumulators of a warpgroup. In each 8 columns, lane l of warp
/// w holds columns 2 (l % 4) and 2 (l % 4) + 1, in rows 16 w + l / 4 and 16 w +
/// l / 4 + 8.
struct WideSums {
  float of[128];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < 128; ++i)
      of[i] = 0;
  }
  /// Prevents the compiler from moving later code before this point, where the
  /// accumulators are not ready yet.
  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int i = 0; i < 128; ++i)
      asm volatile("" : "+f"(of[i])::"memory");
  }
  /// Orders earlier writes to the accumulator registers before the matmuls.
  __device__ __forceinline__ static void begin() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  __device__ __forceinline__ static void commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  /// Waits until at most `pending` groups are in flight.
  template <int pending> __device__ __forceinline__ static void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
  }

  /// Accumulates left [64, 16] times right [16, 256].
  template <bool acrossLeft, bool acrossRight>
  __device__ __forceinline__ void add(uint64_t left, uint64_t right);
};

#define RECIPERUN_SUMS_8(i)                                                    \
  "+f"(of[i]), "+f"(of[i + 1]), "+f"(of[i + 2]), "+f"(of[i + 3]),              \
      "+f"(of[i + 4]), "+f"(of[i + 5]), "+f"(of[i + 6]), "+f"(of[i + 7])
#define RECIPERUN_SUMS_32(i)                                                   \
  RECIPERUN_SUMS_8(i), RECIPERUN_SUMS_8(i + 8), RECIPERUN_SUMS_8(i + 16),      \
      RECIPERUN_SUMS_8(i + 24)

template <bool acrossLeft, bool acrossRight>
__device__ __forceinline__ void WideSums::add(uint64_t left, uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
      "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, "
      "%58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, "
      "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, "
      "%100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "
      "%124, %125, %126, %127}, %128, %129, 1, 1, 1, %130, %131;"
      : RECIPERUN_SUMS_32(0), RECIPERUN_SUMS_32(32), RECIPERUN_SUMS_32(64),
        RECIPERUN_SUMS_32(96)
      : "l"(left), "l"(right), "n"(int(acrossLeft)), "n"(int(acrossRight))
      : "memory");
}

/// The 64 by `columns` accumulators of a warpgroup, in the layout of WideSums.
template <int columns> struct WarpgroupSums {
  float of[columns / 2];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < columns / 2; ++i)
      of[i] = 0;
  }
  /// See WideSums.
  __device__ __forceinline__ void pin() {
#pragma unroll
    for (int i = 0; i < columns / 2; ++i)
      asm volatile("" : "+f"(of[i])::"memory");
  }

  /// Accumulates left [64, 16] times right [16, columns]. The rows of both
  /// tiles are the outer dimension.
  __device__ __forceinline__ void add(uint64_t left, uint64_t right);
  /// Like add(), with the left operand in registers, 16 rows of it in each warp
  /// (MatrixFragments.cuh), and a right operand whose rows are the summed
  /// dimension.
  __device__ __forceinline__ void addAcross(const uint32_t (&left)[4],
                                            uint64_t right);
};

template <>
__device__ __forceinline__ void WarpgroupSums<128>::add(uint64_t left,
                                                        uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
      "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, "
      "%58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;"
      : RECIPERUN_SUMS_32(0), RECIPERUN_SUMS_32(32)
      : "l"(left), "l"(right)
      : "memory");
}

template <>
__device__ __forceinline__ void
WarpgroupSums<64>::addAcross(const uint32_t (&left)[4], uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
      : RECIPERUN_SUMS_32(0)
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right)
      : "memory");
}

template <>
__device__ __forceinline__ void
WarpgroupSums<128>::addAcross(const uint32_t (&left)[4], uint64_t right) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "
      "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
      "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, "
      "%58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      : RECIPERUN_SUMS_32(0), RECIPERUN_SUMS_32(32)
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right)
      : "memory");
}

#undef RECIPERUN_SUMS_32
#undef RECIPERUN_SUMS_8

} // namespace reciperun::kernels::cuda

#endif // RECIPERUN_KERNELS_COMMON_WARPGROUPMATMULS_CUH
