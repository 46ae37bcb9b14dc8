// A view of a buffer: its address, type and local shape.
//
// A view owns nothing. The data is in the arena and the shape in the plan; both
// live as long as the run.

#ifndef RECIPERUN_DEVICE_TENSOR_H
#define RECIPERUN_DEVICE_TENSOR_H

#include "runtime/plan/Op.h"

#include <cstdint>
#include <span>

namespace reciperun::device {

struct Tensor {
  void* data = nullptr; // null: an optional buffer that is absent
  plan::DType type = plan::DType::f32;
  std::span<const int64_t> shape; // row-major, contiguous
  bool isConstant = false;        // keeps its value while the plan runs

  bool present() const { return data != nullptr; }

  /// The product of the dimensions; 1 for a scalar.
  int64_t elements() const {
    int64_t count = 1;
    for (int64_t size : shape)
      count *= size;
    return count;
  }

  int64_t bytes() const { return elements() * plan::byteSize(type); }

  template <class T> T* as() const { return static_cast<T*>(data); }
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_TENSOR_H
