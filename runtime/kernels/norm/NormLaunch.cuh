// Prepares the tensors of norm kernels and launches them. Both kinds of norm
// have the same tensors, except that RMSNorm has no mean.
//
// `Kernels` describes a norm: its kernels as functions that take NormForward
// and NormBackward, forward<T, vectors, mostThreads, whole, Rows>() and
// backward with the same parameters; the attributes of its ops, Attributes and
// BackwardAttributes; and keepsMean, whether forward writes the mean of a row
// for backward.

#ifndef RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH
#define RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH

#include "runtime/kernels/common/BlockSums.cuh"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowFeeds.cuh"
#include "runtime/kernels/common/RowSums.cuh"
#include "runtime/kernels/norm/NormWeights.cuh"

namespace reciperun::kernels {

template <class T> struct NormForward {
  RowOperands<T, 1> x;
  float eps;
  NormWeight<T> weight;
  T* y;
  float* mean; // null if the norm has no mean
  float* rstd;
};

template <class T> struct NormBackward {
  RowOperands<T, 3> of; // dy, x, and dx if the op accumulates into it
  NormWeight<T> weight;
  const float* mean; // null if the norm has no mean
  const float* rstd;
  T* dx;
  float* partial; // [blocks, perToken, width], or null
};

/// (x, w) -> (y, mean if the norm keeps it, rstd).
template <class Kernels, class T>
NormForward<T> normForward(const device::CudaKernelArgs& args,
                           const NormRows& rows) {
  const device::Tensor &x = args.inputs[0], &w = args.inputs[1];
  const auto kept = args.outputs.subspan(1);
  return {{{x.as<T>()}, rows.tokens, int(rows.width)},
          float(typename Kernels::Attributes(args.op.attributes).eps),
          normWeight<T>(args, w),
          args.outputs[0].as<T>(),
          Kernels::keepsMean ? kept.front().as<float>() : nullptr,
          kept[Kernels::keepsMean].template as<float>()};
}

/// (dy, x, w, mean if the norm keeps it, rstd) -> (dx, dw).
template <class Kernels, class T>
NormBackward<T> normBackward(const device::CudaKernelArgs& args,
                             const NormRows& rows) {
  const device::Tensor &dy = args.inputs[0], &x = args.inputs[1],
                       &w = args.inputs[2], &dx = args.outputs[0],
                       &dw = args.outputs[1];
  const auto kept = args.inputs.subspan(3);
  const typename Kernels::BackwardAttributes attributes(args.op.attributes);
  return {{{dy.as<T>(), x.as<T>(), dx.as<T>()},
           rows.tokens,
           int(rows.width),
           attributes.accumulate ? 3 : 2},
          normWeight<T>(args, w),
          Kernels::keepsMean ? kept.front().as<float>() : nullptr,
          kept[Kernels::keepsMean].template as<float>(),
          dx.as<T>(),
          dw.present() ? args.context.scratch<float>() : nullptr};
}

template <class Kernels, class T>
Status launchNormForward(const device::CudaKernelArgs& args) {
  const device::Tensor &x = args.inputs[0], &w = args.inputs[1],
                       &y = args.outputs[0];
  const NormRows rows(x, w);
  NormForward<T> operands = normForward<Kernels, T>(args, rows);
  return withRowBlock<T>(
      rows.width, areAligned(16, x.data, w.data, y.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        using Part = RowPart<T, vectors.value, whole.value>;
        const RingShape ring = ringOf<T>(args, block, rows, 1, 1024);
        if constexpr (mayBeRing(most.value, whole.value)) {
          if (ring.slots > 0) {
            operands.x.slots = ring.slots;
            launchRing(
                args.context,
                Kernels::template forward<T, vectors.value, most.value,
                                          whole.value, RingRows<T, Part, 1>>(),
                ring, block, rows, operands);
            return;
          }
        }
        const auto kernel =
            Kernels::template forward<T, vectors.value, most.value, whole.value,
                                      LoadedRows<T, Part, 1, false>>();
        launchOverlapped(args.context, kernel,
                         rowGrid(block.blocks(rows.tokens), rows),
                         block.threads, 0, operands);
      });
}

template <class Kernels, class T>
Status launchNormBackward(const device::CudaKernelArgs& args) {
  const device::Tensor &dy = args.inputs[0], &x = args.inputs[1],
                       &w = args.inputs[2], &dx = args.outputs[0],
                       &dw = args.outputs[1];
  const NormRows rows(x, w);
  NormBackward<T> operands = normBackward<Kernels, T>(args, rows);
  const int64_t weightSize = rows.perToken * rows.width;
  return withRowBlock<T>(
      rows.width, areAligned(16, dy.data, x.data, w.data, dx.data),
      [&](auto vectors, auto most, auto whole, const RowBlock& block) {
        using Part = RowPart<T, vectors.value, whole.value>;
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
                args.context,
                Kernels::template backward<T, vectors.value, most.value,
                                           whole.value, RingRows<T, Part, 3>>(),
                ring, block, rows, operands);
          }
        }
        if (!isRing) {
          const auto kernel =
              Kernels::template backward<T, vectors.value, most.value,
                                         whole.value,
                                         LoadedRows<T, Part, 3, true>>();
          launchOverlapped(args.context, kernel, rowGrid(blocks, rows),
                           block.threads, blockSumBytes(block, rows.width),
                           operands);
        }
        if (dw.present())
          addPieces(args, blocks, operands.partial, dw);
      });
}

/// The kernel of the norm's op.
template <class Kernels>
Status runNormForward(const device::CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return launchNormForward<Kernels, T>(args);
  });
}

/// The kernel of the gradient's op.
template <class Kernels>
Status runNormBackward(const device::CudaKernelArgs& args) {
  return withDeviceType(args, args.inputs[0].type, [&]<class T>(DeviceType<T>) {
    return launchNormBackward<Kernels, T>(args);
  });
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_NORM_NORMLAUNCH_CUH
