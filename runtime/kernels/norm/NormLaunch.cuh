// How the kernels of norms are launched; both kinds of norm take and give the
// same tensors but for what they keep of a row.
//
// `Kernels` has those of a norm, as functions that take the kernel's operands:
// forward<T, vectors, mostThreads, whole, Rows>() and likewise backward.

#ifndef RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH
#define RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowFeeds.cuh"
#include "runtime/kernels/common/RowSums.cuh"
#include "runtime/kernels/norm/NormWeights.cuh"

namespace reciperun::kernels {

/// `operands.x` are the rows.
template <class Kernels, class T, class Operands>
Status launchNorm(const device::CudaKernelArgs& args, const NormRows& rows,
                  Operands operands) {
  const device::Tensor &x = args.inputs[0], &w = args.inputs[1],
                       &y = args.outputs[0];
  return withRowBlock<T>(
      rows.width, areAligned(16, x.data, w.data, y.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        using Part = RowPart<T, vectors.value, whole.value>;
        const cudaStream_t stream = args.context.stream();
        const RingShape ring = ringOf<T>(args, block, rows, 1, 1024);
        if constexpr (mayBeRing(most.value, whole.value)) {
          if (ring.slots > 0) {
            operands.x.slots = ring.slots;
            launchRing(
                Kernels::template forward<T, vectors.value, most.value,
                                          whole.value, RingRows<T, Part, 1>>(),
                ring, block, rows, stream, operands);
            return;
          }
        }
        const auto kernel =
            Kernels::template forward<T, vectors.value, most.value, whole.value,
                                      LoadedRows<T, Part, 1, false>>();
        kernel<<<rowGrid(block.blocks(rows.tokens), rows), block.threads, 0,
                 stream>>>(operands);
      });
}

/// `operands.of` are the rows, and `operands.partial` has the sums of each
/// block where there is a gradient of the weight.
template <class Kernels, class T, class Operands>
Status launchNormBackward(const device::CudaKernelArgs& args,
                          const NormRows& rows, Operands operands) {
  const device::Tensor &dy = args.inputs[0], &x = args.inputs[1],
                       &w = args.inputs[2], &dx = args.outputs[0],
                       &dw = args.outputs[1];
  const int64_t weightSize = rows.perToken * rows.width;
  return withRowBlock<T>(
      rows.width, areAligned(16, dy.data, x.data, w.data, dx.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        using Part = RowPart<T, vectors.value, whole.value>;
        const cudaStream_t stream = args.context.stream();
        int64_t blocks = rowPieces(blocksOfSums(args, block, rows), weightSize);
        RingShape ring = ringOf<T>(args, block, rows, operands.of.count,
                                   vectors.value > 1 ? 512 : 1024);
        bool isRing = false;
        if constexpr (mayBeRing(most.value, whole.value)) {
          if (ring.slots > 0) {
            isRing = true;
            blocks = ring.blocks = rowPieces(ring.blocks, weightSize);
            operands.of.slots = ring.slots;
            launchRing(
                Kernels::template backward<T, vectors.value, most.value,
                                           whole.value, RingRows<T, Part, 3>>(),
                ring, block, rows, stream, operands);
          }
        }
        if (!isRing) {
          const auto kernel =
              Kernels::template backward<T, vectors.value, most.value,
                                         whole.value,
                                         LoadedRows<T, Part, 3, true>>();
          kernel<<<rowGrid(blocks, rows), block.threads,
                   blockSumBytes(block, rows.width), stream>>>(operands);
        }
        if (dw.present())
          addPieces(args, blocks, operands.partial, dw);
      });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH
