// Matmuls in bf16 of a wide operand X [tokens, wide] and up to three thin ones
// T_i [tokens, n_i], with matrices W_i [n_i, wide], or [wide, n_i] where they
// lie across: the products of adapters. They cost what the bytes of X cost, if
// X is read or written once.

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
  std::vector<Part> parts; // one where matrices lie across
  bool isAcross = false;
  /// What X is added to: X itself or apart from it, or nothing.
  const void* base = nullptr;

  int64_t widthOf(const Part& part) const {
    return part.thin.elements() / tokens();
  }
  /// Of all parts: |X| |T| / |W| is the square of the tokens.
  int64_t tokens() const;
  int64_t wide() const { return x.elements() / tokens(); }
};

/// What is made of which: see the functions of these names.
enum class ThinKind { makeThin, makeWide, addToMatrices };

/// Whether the kernels below take the products: bf16 but for gradients of
/// matrices, whole vectors at aligned addresses, n_i up to 64 and 128 together,
/// a wide operand that is much wider; and several products, or one that is
/// added to something: one by itself cuBLASLt makes faster.
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
