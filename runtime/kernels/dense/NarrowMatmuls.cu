// y [m,n] = alpha x [m,k] w [n,k]^T (+ base) for few rows: up to four rows by
// the kernels of DirectMatmuls.cu, more rows by those of NarrowTiles.cuh.

#include "runtime/kernels/dense/NarrowMatmuls.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/dense/DirectMatmuls.cuh"
#include "runtime/kernels/dense/NarrowTiles.cuh"

namespace reciperun::kernels {
namespace {

using device::Matmuls;
using narrow::Bf16;
using narrow::Operands;

constexpr int64_t mostRows = 16;

Operands operandsOf(const Matmuls::Shape& shape, float alpha,
                    const Matmuls::Operands& operands) {
  const void* base =
      shape.accumulate ? (operands.base ? operands.base : operands.c) : nullptr;
  Operands of = {};
  of.x = static_cast<const Bf16*>(operands.a);
  of.w = static_cast<const uint8_t*>(operands.b);
  of.base = static_cast<const Bf16*>(base);
  of.y = static_cast<Bf16*>(operands.c);
  of.rows = shape.m;
  of.n = shape.n;
  of.k = shape.k;
  of.alpha = alpha;
  return of;
}

} // namespace

narrow::DirectMatmul narrow::directMatmul(const Matmuls::Shape& shape,
                                          float alpha, bool isConstant,
                                          const Matmuls::Operands& operands) {
  DirectMatmul made{DirectType::bf16, operandsOf(shape, alpha, operands)};
  made.operands.isConstant = isConstant;
  return made;
}

bool isNarrow(const Matmuls::Shape& shape, const Matmuls::Operands& operands) {
  return shape.m <= mostRows && !shape.transposeA && shape.transposeB &&
         shape.input == plan::DType::bf16 && !shape.inputB &&
         shape.output == plan::DType::bf16 &&
         narrow::isWhole<narrow::StoredBf16>(
             operandsOf(shape, /*alpha=*/1, operands));
}

Status runNarrow(const Matmuls::Shape& shape, float alpha, bool isConstant,
                 const Matmuls::Operands& operands,
                 const device::CudaContext& context) {
  const narrow::DirectMatmul direct =
      narrow::directMatmul(shape, alpha, isConstant, operands);
  if (narrow::isDirect(direct))
    return narrow::runDirectly({&direct, 1}, context);
  const Operands& of = direct.operands;
  constexpr int warps = 16;
  if (shape.m <= 8)
    narrow::launchTiles<narrow::StoredBf16, 1, warps, false>(of, context);
  else
    narrow::launchTiles<narrow::StoredBf16, 2, warps, false>(of, context);
  return device::launchStatus();
}

} // namespace reciperun::kernels
