// What a CPU rank keeps between kernels: its thread count, the GEMM library's
// primitives and a scratch buffer a thread.
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
  /// `threads` at least 1: those that each kernel runs on.
  explicit CpuContext(int threads);

  int threads() const { return int(perThread.size()); }

  Gemm& gemm() { return matmuls; }

  /// At least `count` elements, aligned to 64 bytes, that belong to thread
  /// number `thread` until it asks again. Contents are undefined. Threads may
  /// call at the same time for different numbers.
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
