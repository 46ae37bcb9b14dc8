// Attention of a serving step's tokens to the keys and values in the pages of
// their sequences, on a GPU; see AttentionPaged.cpp.
//
// Long runs of a sequence in bf16 (prefill) are computed in tiles of queries
// (PagedWarpgroups.cuh, PagedTiles.cuh), other tokens one by one.
//
// 1. Rotate queries and keys if the op has `rope`, write the new keys and
//    values into the pages, and divide the tokens. Rotated queries are in the
//    output until a block overwrites those that it has read. The division is
//    computed on the GPU, and the grids cover every division that a step of
//    this size can have. Of keys and values in 8 bits, rows in bf16 are kept in
//    the workspace for 2.
// 2. Compute the tiles, then the single tokens.
//
// Single tokens of whole, aligned rows in bf16 are computed on tensor cores
// (PagedGroups.cuh), others without (PagedSingles.cuh).

#include "runtime/kernels/attention/AttentionLaunch.cuh"
#include "runtime/kernels/attention/PagedGroups.cuh"
#include "runtime/kernels/attention/PagedSingles.cuh"
#include "runtime/kernels/attention/PagedTiles.cuh"
#include "runtime/kernels/attention/PagedWarpgroups.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/ops/AttentionOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;
using plan::DType;
using namespace cuda;

bool rotates(const CudaKernelArgs& args) {
  return ops::AttentionPagedAttributes(args.op.attributes).rope;
}

/// The queries after writePages: in the output if they are rotated.
template <class T> const T* queriesOf(const CudaKernelArgs& args) {
  return rotates(args) ? args.outputs[0].as<T>() : args.inputs[0].as<T>();
}

/// Calls body(DeviceType<P>()) for the type P of the pages, for a call that
/// computes in T.
template <class T, class Body>
Status withPages(const CudaKernelArgs& args, Body body) {
  const DType type = args.outputs[1].type;
  if constexpr (std::is_same_v<T, Bf16>) {
    if (type == DType::f8e4m3)
      return body(DeviceType<__nv_fp8_e4m3>());
    if (type == DType::i8)
      return body(DeviceType<int8_t>());
  }
  if (type == args.inputs[0].type)
    return body(DeviceType<T>());
  return Status::error("attention_paged on GPUs keeps keys and values in 8 "
                       "bits for a compute type of bf16 alone");
}

/// Calls body(SingleLayout<...>()) for a step's heads.
template <class T, int heads, class Body>
Status withLayout(const PagedStep& step, bool isAligned, Body body) {
  constexpr int n = vectorLength<T>;
  const int width = step.shape.width;
  if (!isAligned)
    return body(SingleLayout<1, 32, widestHead / 32, 1>());
  if (width <= 64)
    return body(SingleLayout<n, 64 / n, 1, heads>());
  if (width <= 128)
    return body(SingleLayout<n, 128 / n, 1, heads>());
  return body(SingleLayout<n, 32, widestHead / 32 / n, heads>());
}

template <class T, class Body>
Status withLayout(const PagedStep& step, bool isAligned, Body body) {
  const int group = step.shape.group();
  if (group == 1)
    return withLayout<T, 1>(step, isAligned, body);
  if (group <= 4)
    return withLayout<T, 4>(step, isAligned, body);
  return withLayout<T, 8>(step, isAligned, body);
}

/// Cuts `count` single tokens into pieces: enough to fill the GPU with blocks,
/// and no more than the scratch holds.
SinglePieces takePieces(const CudaKernelArgs& args, const PagedStep& step,
                        int64_t count, Scratch& room) {
  const AttentionShape& shape = step.shape;
  const int64_t blocks = count * shape.keyHeads;
  const int64_t wanted =
      ceilDivide(int64_t(8) * args.context.multiprocessors(), blocks);
  const int64_t bytes =
      count * shape.heads * (shape.width + 2) * int64_t(sizeof(float));
  const int64_t fitting = (room.leftBytes() - 1024) / bytes;
  SinglePieces pieces{};
  pieces.count = int(
      std::max<int64_t>(1, std::min({wanted, fitting, int64_t(mostPieces)})));
  if (pieces.count == 1)
    return pieces;
  const int64_t rows = count * shape.heads * pieces.count;
  pieces.limits = room.take<float>(rows * 2);
  pieces.sums = room.take<float>(rows * shape.width);
  return pieces;
}

/// Single tokens, of which there are up to `most`, and their pieces.
struct Singles {
  SingleTokens tokens;
  int64_t most;
  SinglePieces pieces;

  /// The grid of blocks of up to `heads` query heads.
  dim3 grid(const PagedStep& step, int heads) const {
    const int64_t chunks = ceilDivide(step.shape.group(), heads);
    return {unsigned(pieces.count), unsigned(step.shape.keyHeads * chunks),
            unsigned(most)};
  }
};

/// Launches a kernel that overlaps the end of the previous one.
template <class... Parameter, class... Argument>
Status launchStep(const CudaKernelArgs& args, void (*kernel)(Parameter...),
                  dim3 grid, int threads, int sharedBytes,
                  const Argument&... argument) {
  RECIPERUN_CUDA_TRY(cudaFuncSetAttribute,
                     reinterpret_cast<const void*>(kernel),
                     cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes);
  launchOverlapped(args.context, kernel, grid, unsigned(threads),
                   size_t(sharedBytes), argument...);
  return device::launchStatus();
}

template <class P>
Status attendOnTensorCores(const CudaKernelArgs& args, const PagedStep& step,
                           const Singles& singles,
                           const PagedGroupData<P>& data) {
  return withPaddedWidth(step.shape.width, [&](auto width) {
    using Block = PagedGroupBlock<width.value, P>;
    return launchStep(args, attendGroups<width.value, P>,
                      singles.grid(step, Block::heads), singleThreads,
                      Block::sharedBytes, step, singles.tokens, singles.pieces,
                      data);
  });
}

template <class T, class P>
Status attendInVectors(const CudaKernelArgs& args, const PagedStep& step,
                       const Singles& singles, const T* q, const P* keys,
                       const P* values, T* out) {
  const bool isAligned = step.shape.width % vectorLength<T> == 0 &&
                         areAligned(16, q, keys, values);
  return withLayout<T>(step, isAligned, [&](auto layout) {
    using Layout = decltype(layout);
    return launchStep(args, attendSingles<T, P, Layout>,
                      singles.grid(step, Layout::heads), singleThreads,
                      Layout::sharedBytes, step, singles.tokens, singles.pieces,
                      q, keys, values, out);
  });
}

/// Computes up to `count` single tokens.
template <class T, class P>
Status attendOneByOne(const CudaKernelArgs& args, const PagedStep& step,
                      SingleTokens tokens, int64_t count, Scratch& room) {
  const Singles singles{tokens, count, takePieces(args, step, count, room)};
  const T* const q = queriesOf<T>(args);
  const P* const keys = args.outputs[1].as<P>();
  const P* const values = args.outputs[2].as<P>();
  T* const out = args.outputs[0].as<T>();
  bool isOnTensorCores = false;
  if constexpr (std::is_same_v<T, Bf16>) {
    isOnTensorCores = step.shape.width % vectorLength<P> == 0 &&
                      areAligned(16, q, keys, values);
    if (isOnTensorCores)
      RECIPERUN_TRY(
          attendOnTensorCores<P>(args, step, singles, {q, keys, values, out}));
  }
  if (!isOnTensorCores)
    RECIPERUN_TRY(attendInVectors(args, step, singles, q, keys, values, out));
  if (singles.pieces.count == 1)
    return Status::ok();
  return launchStep(args, mergeSingles<T>,
                    dim3(unsigned(step.shape.heads), unsigned(count)), 64, 0,
                    step, tokens, singles.pieces, out);
}

/// The operands of the kernels for tiles.
template <class P>
PagedTileData<P> tileDataOf(const CudaKernelArgs& args, const PagedStep& step) {
  PagedTileData<P> data{queriesOf<Bf16>(args),
                        args.outputs[1].as<P>(),
                        args.outputs[2].as<P>(),
                        args.outputs[0].as<Bf16>(),
                        false,
                        {}};
  data.isAligned =
      areRowsAligned(step.shape, data.q, data.keys, data.values, data.out) &&
      step.shape.width % vectorLength<P> == 0;
  return data;
}

/// Whether the warpgroup kernel computes the tiles of queries.
template <class P>
bool usesWarpgroups(const CudaKernelArgs& args, const PagedStep& step) {
  return step.shape.width <= sizes::widestWarpgroupHead &&
         args.context.properties().major == 9 &&
         tileDataOf<P>(args, step).isAligned;
}

/// Computes the tokens of long runs in tiles of queries.
template <int width, class P>
Status attendInTiles(const CudaKernelArgs& args, const PagedStep& step,
                     const PagedDivision& division, const FreshRows& fresh,
                     int64_t mostTiles) {
  PagedTileData<P> data = tileDataOf<P>(args, step);
  data.fresh = fresh;
  if constexpr (width <= sizes::widestWarpgroupHead) {
    using Block = PagedWarpgroupBlock<width, PagedTileData<P>>;
    static_assert(Block::blockQueries == PagedTileBlock<width, P>::blockQueries,
                  "both have the division's tiles");
    const int blocks = args.context.multiprocessors() * (isScaled<P> ? 2 : 1);
    if (usesWarpgroups<P>(args, step))
      return launchStep(args, attendByWarpgroups<width, P>,
                        dim3(unsigned(blocks)), Block::threads,
                        Block::sharedBytes, step, data, division);
  }
  using Block = PagedTileBlock<width, P>;
  return launchStep(args, attendTiles<width, P>,
                    dim3(unsigned(step.shape.heads), unsigned(mostTiles)),
                    Block::threads, Block::sharedBytes, step, data, division);
}

/// The fresh rows, in the op's workspace, if the kernel for tiles reads them.
template <class P>
FreshRows freshRowsOf(const CudaKernelArgs& args, const PagedStep& step) {
  if (!isScaled<P> || !args.workspace.present() ||
      !usesWarpgroups<P>(args, step))
    return {};
  auto* const rows = args.workspace.as<Bf16>();
  return {rows, rows + step.tokens.count * step.keyRow()};
}

/// Allocates the division of a step. Leaves its counts null if all tokens are
/// single.
template <class P>
Status takeDivision(const PagedStep& step, bool hasFreshRows, Scratch& room,
                    PagedDivision& division) {
  const int64_t tokens = step.tokens.count;
  const int64_t sequences = step.tokens.mostSequences;
  if (tokens < PagedDivision::shortestTiled)
    return Status::ok();
  return withPaddedWidth(step.shape.width, [&](auto width) -> Status {
    division.tileQueries = PagedTileBlock<width.value, P>::blockQueries;
    const int64_t tiles =
        PagedDivision::mostTiles(tokens, sequences, division.tileQueries);
    division.counts = room.take<int>(3);
    division.tiles = room.take<QueryRun>(tiles);
    if (hasFreshRows)
      division.freshTiles = room.take<QueryRun>(tiles);
    division.singles =
        room.take<int>(PagedDivision::mostSingles(tokens, sequences));
    division.runs = room.take<TokenRange>(sequences);
    if (room.leftBytes() >= 0)
      return Status::ok();
    return Status::error("attention_paged on GPUs has no room to divide " +
                         std::to_string(tokens) + " tokens of " +
                         std::to_string(sequences) + " sequences");
  });
}

/// Writes the pages, n elements at a time.
template <int n, class T, class P>
Status writeStep(const CudaKernelArgs& args, const PagedStep& step,
                 const WrittenRows<T, P>& rows, const PagedDivision& division) {
  const dim3 blocks(unsigned(step.tokens.count + int(division.isThere())));
  Rotation rotation{};
  if (!rotates(args))
    return launchStep(args, writePages<n, false, T, P>, blocks, writingThreads,
                      0, step, rows, division, rotation);
  RECIPERUN_TRY(readRotation(args.op, step.shape.width, rotation));
  const auto rowBytes = int(sizeof(T)) * step.shape.keyHeads * step.shape.width;
  // If n divides half the rotated width, no vector of pairs crosses the middle
  // of a head.
  if (rotation.half % n == 0)
    return launchStep(args, writePages<n, true, T, P>, blocks, writingThreads,
                      rowBytes, step, rows, division, rotation);
  return launchStep(args, writePages<1, true, T, P>, blocks, writingThreads,
                    rowBytes, step, rows, division, rotation);
}

/// Computes the tiles of a division, then its single tokens.
template <class P>
Status attendDivided(const CudaKernelArgs& args, const PagedStep& step,
                     const PagedDivision& division, const FreshRows& fresh,
                     Scratch& room) {
  const int64_t tokens = step.tokens.count;
  const int64_t sequences = step.tokens.mostSequences;
  RECIPERUN_TRY(withPaddedWidth(step.shape.width, [&](auto width) {
    return attendInTiles<width.value, P>(
        args, step, division, fresh,
        PagedDivision::mostTiles(tokens, sequences, division.tileQueries));
  }));
  return attendOneByOne<Bf16, P>(
      args, step, {division.singles, division.counts + 2},
      PagedDivision::mostSingles(tokens, sequences), room);
}

} // namespace

Status attentionPagedCudaKernel(const CudaKernelArgs& args) {
  const auto &in = args.inputs, &out = args.outputs;
  const PagedStep step = pagedStepOf(args.op, args.inputs, args.outputs);
  if (step.tokens.count == 0)
    return Status::ok();
  RECIPERUN_TRY(checkAttention(step.shape));
  return withDeviceType(args, in[0].type, [&]<class T>(DeviceType<T>) {
    return withPages<T>(args, [&]<class P>(DeviceType<P>) -> Status {
      WrittenRows<T, P> rows{in[0].as<T>(),
                             in[1].as<T>(),
                             in[2].as<T>(),
                             out[1].as<P>(),
                             out[2].as<P>(),
                             out[0].as<T>(),
                             {}};
      Scratch room(args.context);
      PagedDivision division{};
      if constexpr (std::is_same_v<T, Bf16>) {
        rows.fresh = freshRowsOf<P>(args, step);
        RECIPERUN_TRY(
            takeDivision<P>(step, rows.fresh.areThere(), room, division));
      }
      Status written = Status::ok();
      withVectors<T>(
          step.shape.width,
          [&](auto n) {
            written = writeStep<n.value>(args, step, rows, division);
          },
          rows.q, rows.k, rows.v, rows.keys, rows.values, rows.out);
      RECIPERUN_TRY(written);
      if constexpr (std::is_same_v<T, Bf16>)
        if (division.isThere())
          return attendDivided<P>(args, step, division, rows.fresh, room);
      return attendOneByOne<T, P>(args, step, {nullptr, nullptr},
                                  step.tokens.count, room);
    });
  });
}

} // namespace reciperun::kernels
