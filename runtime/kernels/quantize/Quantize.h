// Shared parts of the quantization kernels on CPUs and GPUs.

#ifndef RECIPERUN_KERNELS_QUANTIZE_QUANTIZE_H
#define RECIPERUN_KERNELS_QUANTIZE_QUANTIZE_H

#include "runtime/device/Tensor.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/plan/AmaxHistories.h"
#include "runtime/sizes/ScaleBlocks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace reciperun::kernels {

using sizes::mxBlockWidth;
using Blocks = sizes::ScaleBlocks;
inline constexpr int64_t blockWidth = sizes::scaleBlockWidth;

/// The smallest normal f32. The inverse of a smaller scale would overflow.
inline constexpr float leastScale = 0x1p-126f;

/// The scale of values of F for a block whose largest magnitude is `most`.
template <class F> float scaleOf(float most) {
  const float scale = most / F::largest();
  return scale < leastScale ? 1.0f : scale;
}

/// The index of the `mx` scale of a block of a row.
inline int64_t mxPlace(const device::Tensor& scales, int64_t row,
                       int64_t block) {
  const int64_t tile =
      row / sizes::mxTileRows * scales.shape[1] + block / sizes::mxTileBlocks;
  return tile * sizes::mxTileBytes +
         sizes::mxPlaceInTile(row % sizes::mxTileRows,
                              block % sizes::mxTileBlocks);
}

/// The operands of a `quantize`, by their names in ops/quantization.ops. An op
/// that fuses a `quantize` has the same operands without x.
struct QuantizeOperands {
  device::Tensor x, q, scale, qt, qtScale, history;
  Blocks blocks;
  int64_t rows, columns;

  template <class Args> static QuantizeOperands of(const Args& args) {
    QuantizeOperands made = of(args, 0);
    made.x = args.inputs[0];
    return made;
  }

  /// The operands for the op's quantized tensor `number`
  /// (plan/AmaxHistories.h).
  template <class Args>
  static QuantizeOperands of(const Args& args, size_t number) {
    const auto [first, history] = plan::quantizedTensors(args.op.kind)[number];
    QuantizeOperands made{
        {},
        args.outputs[first],
        args.outputs[first + 1],
        args.outputs[first + 2],
        args.outputs[first + 3],
        args.inputs[history],
        sizes::scaleBlocksOf(
            ops::QuantizeAttributes(args.op.attributes).blocks),
        0,
        0};
    const bool isTurned = !made.q.present();
    const device::Tensor& any = isTurned ? made.qt : made.q;
    made.rows = any.shape[isTurned];
    made.columns = any.shape[!isTurned];
    return made;
  }

  plan::DType type() const { return q.present() ? q.type : qt.type; }
};

/// The elements [begin, end) of a rank's part that belong to the matrix x of a
/// `shard_amax` or a `quantize_shard`.
struct OwnRun {
  int64_t begin, end;
};

template <class Args> OwnRun ownRunOf(const Args& args) {
  const int64_t elements = args.inputs[0].elements();
  const ops::ShardAmaxAttributes attributes(args.op.attributes);
  const int64_t begin =
      attributes.start - elements * args.coordinate(attributes.axis);
  const int64_t end = begin + attributes.count;
  return {std::clamp<int64_t>(begin, 0, elements),
          std::clamp<int64_t>(end, 0, elements)};
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_QUANTIZE_QUANTIZE_H
