// Runs kernels on a GPU on copies of arrays and compares the results with those
// of the CPU kernels.

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

/// GPU memory with the contents of an array.
class DeviceArray {
public:
  /// Starts `shift` elements after an address that is a multiple of 256.
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

/// The allowed difference between a GPU value and the CPU value: the sum of
/// both parts.
struct Tolerance {
  double relative = 0;  // of the value
  double ofLargest = 0; // of the largest value of its tensor
};

/// The op of a test, as both devices run it.
struct ParityCase {
  plan::OpKind kind;
  /// Null for an absent optional operand. An array that occurs twice is one
  /// buffer.
  std::vector<Array*> inputs;
  std::vector<Array*> outputs;
  Attributes attributes = {};
  Place place = {};
  /// Shift of each buffer in elements: a buffer may begin at any multiple of
  /// its element size, without further alignment.
  int64_t shift = 0;
  /// f32 elements of the plan's workspace, which only the GPU gets.
  int64_t workspace = 0;
};

/// Text that identifies a case in a failure, for example `silu bf16[3,5]
/// alpha=2`.
std::string describe(const ParityCase& of);

/// Tests of GPU kernels; skipped without a GPU.
class CudaParityTest : public testing::Test {
protected:
  void SetUp() override;

  /// Runs an op on the GPU and stores its outputs. Fails on an error status.
  void runOnGpu(const ParityCase& of);
  Status tryOnGpu(const ParityCase& of);
  /// Runs independent ops on the GPU as one kernel. Returns false, and leaves
  /// the outputs, if there is none for them.
  Expected<bool> joinOnGpu(const std::vector<ParityCase>& all);

  /// Runs an op on both devices with the same operands and compares all
  /// elements of the outputs. `tolerances` has one entry per output, or one for
  /// all. Afterwards the arrays hold the CPU's results. Two more GPU runs must
  /// give the same bits.
  void compare(const ParityCase& of, std::vector<Tolerance> tolerances);

  static std::unique_ptr<device::CudaContext> context;
};

/// Compares two arrays; a failure reports the worst element.
void expectNear(const std::string& what, const Array& gpu, const Array& cpu,
                Tolerance tolerance);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAHARNESS_H
