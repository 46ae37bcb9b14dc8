// The parts that the loops of NarrowMatmul.cpp and NarrowTiles.cpp share: the
// arguments of a matmul, and how an element of C is stored.

#ifndef RECIPERUN_DEVICE_CPU_NARROWLOOPS_H
#define RECIPERUN_DEVICE_CPU_NARROWLOOPS_H

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/AlignedBuffer.h"
#include "runtime/device/cpu/Gemm.h"

#include <cstdint>

namespace reciperun::device {

/// The arguments of a matmul: W [n,k], C [m,n], and A as the loops packed it.
struct NarrowCall {
  const Gemm::Shape& shape;
  const void *packed, *w;
  void* c;

  /// Stores an element of C. A row from m on is padding of the packed A.
  void store(int64_t row, int64_t column, float sum) const {
    if (row >= shape.m)
      return;
    const int64_t at = row * shape.n + column;
    if (shape.output == plan::DType::bf16)
      store(static_cast<bf16*>(c)[at], sum);
    else
      store(static_cast<float*>(c)[at], sum);
  }

private:
  template <class T> void store(T& to, float sum) const {
    to =
        T(shape.accumulate ? float(to) + shape.alpha * sum : shape.alpha * sum);
  }
};

/// The loops of one instruction set.
struct NarrowLoops {
  /// Copies A into the layout that `multiply` reads.
  void (*pack)(const Gemm::Shape& shape, const void* a, AlignedBuffer& packed);
  /// Computes the columns [begin, end) of C. `begin` is a multiple of 16.
  void (*multiply)(const NarrowCall& call, int64_t begin, int64_t end);
};

/// The loops that use matrix tiles of 16 by 32 bf16 (AMX), if the processor and
/// the operating system have them; else both are null.
NarrowLoops tileLoops();

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_NARROWLOOPS_H
