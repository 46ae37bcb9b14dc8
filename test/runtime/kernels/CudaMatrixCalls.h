// Runs the GPU's kernels on arrays that a test fills, beside their CPU twins.

#ifndef RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H
#define RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H

#include "runtime/device/cuda/CudaContext.h"
#include "test/runtime/kernels/Harness.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::kernels {

/// The process's GPU; null, and why, where there is none.
device::CudaContext* testGpu(std::string* cause = nullptr);

/// Tests that want a GPU; they are skipped where there is none.
class OnGpu : public testing::Test {
protected:
  void SetUp() override;
};

/// Bytes of the device, freed with their owner.
class DeviceBytes {
public:
  explicit DeviceBytes(int64_t bytes);
  DeviceBytes(DeviceBytes&& other) noexcept;
  ~DeviceBytes();
  void* data() const { return address; }

private:
  void* address = nullptr;
};

/// Runs an op on the GPU and expects success. Outputs are copied there first,
/// since some are added to. A workspace of `workspaceBytes` of noise.
void callOnGpu(plan::OpKind kind, std::vector<Array*> inputs,
               std::vector<Array*> outputs, const Attributes& attributes = {},
               int64_t workspaceBytes = 0);

/// Of a product, relative to its largest element: in f32 a sum of some hundred
/// terms, rounded at 6e-8, also where its operands are in bf16, whose products
/// are exact; in bf16 such a sum, rounded once.
double matmulTolerance(plan::DType output);

/// Expects max |got - wanted| <= tolerance max |wanted|, and says where not.
void expectClose(const std::string& what, const Array& got, const Array& wanted,
                 double tolerance);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H
