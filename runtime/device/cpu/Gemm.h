// Matmuls: C = alpha op(A) op(B), or C += alpha op(A) op(B).
//
// Matrices are row-major and contiguous. Few rows of A by a transposed B are
// run by NarrowMatmul.h, other matmuls by oneDNN. A primitive is created once
// for each distinct Shape and cached. All primitives share one scratch buffer,
// sized for the largest of them (a few MiB: copies of panels, see oneDNN's
// brgemm matmul). oneDNN lacks f64; a simple blocked loop replaces it and
// serves to check gradients.

#ifndef RECIPERUN_DEVICE_CPU_GEMM_H
#define RECIPERUN_DEVICE_CPU_GEMM_H

#include "runtime/base/Status.h"
#include "runtime/plan/Op.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace reciperun::device {

class Gemm {
public:
  struct Shape {
    int64_t m = 0, n = 0, k = 0;
    bool transposeA = false;               // A is stored [k,m], else [m,k]
    bool transposeB = false;               // B is stored [n,k], else [k,n]
    plan::DType input = plan::DType::f32;  // of A and B
    plan::DType output = plan::DType::f32; // of C [m,n]
    bool accumulate = false;
    float alpha = 1;
    auto operator<=>(const Shape&) const = default;
  };

  explicit Gemm(int threads);
  ~Gemm();
  Gemm(Gemm&&) noexcept;
  Gemm& operator=(Gemm&&) noexcept;

  /// Types: f32 -> f32, bf16 -> bf16 or f32, f64 -> f64. Accumulates in f32
  /// (f64 for f64). On a processor without AVX-512 bf16 operands are copied.
  /// Fails with oneDNN's reason when oneDNN fails.
  Status run(const Shape& shape, const void* a, const void* b, void* c);

  /// The size in bytes of the scratch shared by the primitives made so far.
  size_t scratchBytes() const;

private:
  struct Library; // oneDNN's engine, stream and primitives
  std::unique_ptr<Library> library;
  int threads;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_GEMM_H
