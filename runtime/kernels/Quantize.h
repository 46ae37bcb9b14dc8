// What the kernels of matrices of 8 bits share, on CPUs and GPUs.

#ifndef RECIPERUN_KERNELS_QUANTIZE_H
#define RECIPERUN_KERNELS_QUANTIZE_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string_view>

namespace reciperun::kernels {

/// The side of a block, which has a scale.
inline constexpr int64_t blockWidth = 128;
/// The least normal number of f32: a scale below it would divide by less than
/// its inverse can hold.
inline constexpr float leastScale = 0x1p-126f;

/// What has a scale: Ops.def, `quantize`.
enum class Blocks { tensor, rows, squares };

inline Blocks blocksOf(const plan::Op& op, const char* attribute) {
  const std::string_view word = op.string(attribute);
  return word == "rows"      ? Blocks::rows
         : word == "squares" ? Blocks::squares
                             : Blocks::tensor;
}

/// The operands of a `quantize`, by their names in Ops.def.
struct QuantizeOperands {
  device::Tensor x, q, scale, qt, qtScale, history;
  Blocks blocks;
  int64_t rows, columns;

  template <class Args> static QuantizeOperands of(const Args& args) {
    QuantizeOperands made{args.inputs[0],
                          args.outputs[0],
                          args.outputs[1],
                          args.outputs[2],
                          args.outputs[3],
                          args.outputs[4],
                          blocksOf(args.op, "blocks"),
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

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_QUANTIZE_H
