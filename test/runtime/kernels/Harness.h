// Runs kernels on arrays that a test fills: a small version of the executor.

#ifndef RECIPERUN_TEST_KERNELS_HARNESS_H
#define RECIPERUN_TEST_KERNELS_HARNESS_H

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/kernels/common/Kernels.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::kernels {

/// A tensor that owns its data and is read and written as doubles.
class Array {
public:
  Array() = default; // absent
  Array(plan::DType type, std::vector<int64_t> shape);

  /// Normally distributed numbers from a seed, rounded to the type.
  static Array random(plan::DType type, std::vector<int64_t> shape,
                      unsigned seed, double scale = 1);
  static Array integers(std::vector<int64_t> shape,
                        const std::vector<int64_t>& values,
                        plan::DType type = plan::DType::i32);
  /// The same numbers, rounded to another type.
  Array cast(plan::DType to) const;

  int64_t size() const { return plan::elementCount(dims); }
  double get(int64_t i) const;
  void set(int64_t i, double value);
  device::Tensor tensor() { return {bytes.data(), type, dims}; }
  plan::DType dtype() const { return type; }
  const std::vector<int64_t>& shape() const { return dims; }

private:
  plan::DType type = plan::DType::f32;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
};

/// `Array::random` in f64.
Array real(std::vector<int64_t> shape, unsigned seed);
/// Zeros in the type and shape of `other`.
Array like(const Array& other);

using ops::Attributes;

/// The rank, mesh and threads of a call.
struct Place {
  plan::Mesh mesh;
  int rank = 0;
  int threads = 2;
};

/// A mesh with one axis.
plan::Mesh meshOf(const char* axis, int size);

/// Runs an op and expects success.
void call(plan::OpKind kind, std::vector<Array*> inputs,
          std::vector<Array*> outputs, const Attributes& attributes = {},
          const Place& place = {}, Array* workspace = nullptr);

/// Positions 0, 1, ... in each row, i32 [batch, sequence].
Array placesOf(int64_t batch, int64_t sequence);

/// The accumulator type for elements of `type`.
plan::DType accumulatorOf(plan::DType type);

/// sum of a * b.
double dot(const Array& a, const Array& b);

/// max |a - b| / max |b|; max |a| where b is zero.
double relativeError(const Array& a, const Array& b);

/// The gradient of loss() with respect to the f64 array `x` by central
/// differences. With steps of 1e-5 and losses of order 1 to 100, the
/// differences are accurate to about 1e-10 + 1e-14 / 1e-5 = 1e-9 of the loss.
Array centralDifferences(Array& x, const std::function<double()>& loss);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_HARNESS_H
