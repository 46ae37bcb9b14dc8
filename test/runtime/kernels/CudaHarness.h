// Runs kernels on a GPU on copies of arrays, and holds what they give against
// the CPU's kernels.

#ifndef RECIPERUN_TEST_KERNELS_CUDAHARNESS_H
#define RECIPERUN_TEST_KERNELS_CUDAHARNESS_H

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "test/runtime/kernels/Harness.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::kernels {

/// Memory of the GPU with the contents of an array.
class DeviceArray {
public:
  /// `shift` elements behind an address that is a multiple of 256.
  DeviceArray(Array& array, int64_t shift);
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray();

  device::Tensor tensor() const { return view; }
  void copyTo(Array& array) const;

private:
  void* allocation = nullptr;
  device::Tensor view;
};

/// How far a number of the GPU's may be from the CPU's: the sum of both parts.
struct Tolerance {
  double relative = 0;  // of the number
  double ofLargest = 0; // of the largest number of its tensor
};

/// A test's op, as both devices run it.
struct ParityCase {
  plan::OpKind kind;
  /// Null where an optional one is absent. An array that is given twice is one
  /// buffer.
  std::vector<Array*> inputs;
  std::vector<Array*> outputs;
  Attributes attributes = {};
  Place place = {};
  /// Elements that each buffer is shifted by: a buffer may begin at any
  /// multiple of its element's size, and of no more than that.
  int64_t shift = 0;
};

/// `silu bf16[3,5] alpha=2`: what a failure names.
std::string describe(const ParityCase& of);

/// Tests of kernels of GPUs; they are skipped where there is none.
class CudaParityTest : public testing::Test {
protected:
  void SetUp() override;

  /// Runs an op on the GPU and stores its outputs. Fails on a bad status.
  void runOnGpu(const ParityCase& of);
  Status tryOnGpu(const ParityCase& of);

  /// Runs an op on both devices on the same operands and compares all elements
  /// of the outputs; `tolerances` has one for each output, or one for all. The
  /// arrays then hold what the CPU gives. Then twice more on the GPU, which has
  /// to give the same bits.
  void compare(const ParityCase& of, std::vector<Tolerance> tolerances);

  static std::unique_ptr<device::CudaContext> context;
};

/// Compares two arrays; a failure names the worst element.
void expectNear(const std::string& what, const Array& gpu, const Array& cpu,
                Tolerance tolerance);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAHARNESS_H
