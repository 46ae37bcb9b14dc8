// The state that a CPU rank keeps between kernels: its thread count, the GEMM
// library's primitives and one scratch buffer per thread.
//
// Scratch is outside the arena. Kernels ask for tiles whose size depends on a
// head's width or on a constant, never on the model, so that the sum stays
// within the plan's `library` bytes (runtime/kernels/README.md has the bounds).

#ifndef RECIPERUN_DEVICE_CPU_CPUCONTEXT_H
#define RECIPERUN_DEVICE_CPU_CPUCONTEXT_H

#include "runtime/device/cpu/AlignedBuffer.h"
#include "runtime/device/cpu/Gemm.h"

#include <cstddef>
#include <vector>

namespace reciperun::device {

class CpuContext {
public:
  /// Each kernel runs on `threads` threads, at least 1.
  explicit CpuContext(int threads);

  int threads() const { return int(perThread.size()); }

  Gemm& gemm() { return matmuls; }

  /// Returns at least `count` elements, aligned to 64 bytes, for the thread
  /// with index `thread`, valid until that thread's next call. Contents are
  /// undefined. Different threads may call concurrently.
  template <class T> T* scratch(int thread, size_t count) {
    return static_cast<T*>(
        perThread[size_t(thread)].reserve(count * sizeof(T)));
  }

private:
  std::vector<AlignedBuffer> perThread;
  Gemm matmuls;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_CPUCONTEXT_H
