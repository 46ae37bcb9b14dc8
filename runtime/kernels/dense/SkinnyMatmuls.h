// Matmuls in bf16 of a wide operand X [tokens, wide] and up to three thin
// operands T_i [tokens, n_i], with matrices W_i [n_i, wide], or [wide, n_i] if
// `isAcross`. Adapters use them. Their cost is the memory traffic of X if X is
// read or written only once.

#ifndef RECIPERUN_KERNELS_DENSE_SKINNYMATMULS_H
#define RECIPERUN_KERNELS_DENSE_SKINNYMATMULS_H

#include "runtime/device/KernelTable.h"

#include <vector>

namespace reciperun::kernels {

struct SkinnyMatmuls {
  struct Part {
    device::Tensor thin, matrix;
  };

  device::Tensor x;
  std::vector<Part> parts; // only one if `isAcross`
  bool isAcross = false;
  /// The tensor that makeWide adds to: X itself, a buffer that does not overlap
  /// X, or null.
  const void* base = nullptr;

  int64_t widthOf(const Part& part) const {
    return part.thin.elements() / tokens();
  }
  /// Computed over all parts: |X| |T| / |W| is the square of the tokens.
  int64_t tokens() const;
  int64_t wide() const { return x.elements() / tokens(); }
};

/// The operand that is computed; see the functions of the same names.
enum class ThinKind { makeThin, makeWide, addToMatrices };

/// Whether the kernels below support the matmuls: bf16 except for the gradients
/// of matrices; whole, aligned vectors; n_i up to 64 and their sum up to 128; a
/// wide operand that is much wider than the thin ones; and several matmuls, or
/// one that adds to a tensor. cuBLASLt is faster for other single matmuls.
bool areThin(const SkinnyMatmuls& products);

/// T_i = alpha X W_i^T.
Status makeThin(const device::CudaKernelArgs& args,
                const SkinnyMatmuls& products);
/// X = base + alpha (the sum of T_i W_i), rounded once.
Status makeWide(const device::CudaKernelArgs& args,
                const SkinnyMatmuls& products);
/// W_i += alpha T_i^T X, in f32 or bf16, rounded once.
Status addToMatrices(const device::CudaKernelArgs& args,
                     const SkinnyMatmuls& products);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DENSE_SKINNYMATMULS_H
