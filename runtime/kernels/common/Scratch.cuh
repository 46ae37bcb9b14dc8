// Allocates the context's scratch to the kernels of one op.

#ifndef RECIPERUN_KERNELS_COMMON_SCRATCH_CUH
#define RECIPERUN_KERNELS_COMMON_SCRATCH_CUH

#include "runtime/kernels/common/CudaTypes.cuh"

#include <cstddef>

namespace reciperun::kernels {

class Scratch {
public:
  explicit Scratch(const device::CudaContext& context)
      : next(context.scratch<std::byte>()), left(device::cudaScratchBytes) {}

  /// Allocates `count` elements, aligned to 256 bytes. The caller may use them
  /// only if leftBytes() is not negative afterwards.
  template <class T> T* take(int64_t count) {
    const int64_t bytes =
        ceilDivide(count * int64_t(sizeof(T)), alignment) * alignment;
    T* const taken = reinterpret_cast<T*>(next);
    next += bytes;
    left -= bytes;
    return taken;
  }
  int64_t leftBytes() const { return left; }

private:
  static constexpr int64_t alignment = 256;

  std::byte* next;
  int64_t left;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_SCRATCH_CUH
