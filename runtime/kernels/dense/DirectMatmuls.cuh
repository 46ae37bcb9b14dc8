// Matmuls of up to four rows without tensor cores, with a weight in bf16, or in
// fp8 with scales of whole rows. Their time is that of reading the weight.

#ifndef RECIPERUN_KERNELS_DENSE_DIRECTMATMULS_CUH
#define RECIPERUN_KERNELS_DENSE_DIRECTMATMULS_CUH

#include "runtime/base/Status.h"
#include "runtime/device/KernelTable.h"
#include "runtime/device/cuda/Matmuls.h"
#include "runtime/kernels/dense/NarrowTiles.cuh"

#include <optional>
#include <span>

namespace reciperun::kernels::narrow {

/// The weight's type.
enum class DirectType { bf16, fp8 };

/// A matmul for these kernels.
struct DirectMatmul {
  DirectType type;
  Operands operands;
};

/// The most matmuls of a launch.
inline constexpr int mostTogether = 3;

/// A matmul that isNarrow() (NarrowMatmuls.h).
DirectMatmul directMatmul(const device::Matmuls::Shape& shape, float alpha,
                          bool isConstant,
                          const device::Matmuls::Operands& operands);

/// Whether the kernels support the matmul.
bool isDirect(const DirectMatmul& matmul);

/// Enqueues up to `mostTogether` matmuls of one type and number of rows as one
/// kernel.
Status runDirectly(std::span<const DirectMatmul> matmuls,
                   const device::CudaContext& context);

/// An op's matmul if these kernels run it: of a `linear` or a
/// `quantized_linear`.
std::optional<DirectMatmul> directLinear(const device::CudaKernelArgs& args);
std::optional<DirectMatmul>
directQuantizedLinear(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels::narrow

#endif // RECIPERUN_KERNELS_DENSE_DIRECTMATMULS_CUH
