// A CPU rank's threads, scratch and GEMM primitives.

#include "runtime/device/cpu/CpuContext.h"

#include <cassert>

namespace reciperun::device {

CpuContext::CpuContext(int threads)
    : perThread(size_t(threads)), matmuls(threads) {
  assert(threads >= 1 && "a context needs a thread");
}

} // namespace reciperun::device
