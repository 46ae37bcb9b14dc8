// Runs GPU kernels on arrays that a test fills, next to their CPU twins.

#ifndef RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H
#define RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H

#include "runtime/device/cuda/CudaContext.h"
#include "test/runtime/kernels/Harness.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace reciperun::kernels {

/// The process's GPU, or null with the cause when there is no GPU.
device::CudaContext* testGpu(std::string* cause = nullptr);

/// Tests that need a GPU; skipped without one.
class OnGpu : public testing::Test {
protected:
  void SetUp() override;
};

/// Device memory, freed with its owner.
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
/// since some accumulate. The workspace has `workspaceBytes` bytes of noise. Of
/// the place only the rank and its mesh matter.
void callOnGpu(plan::OpKind kind, std::vector<Array*> inputs,
               std::vector<Array*> outputs, const Attributes& attributes = {},
               int64_t workspaceBytes = 0, const Place& place = {});

/// Matmul tolerance relative to the largest element. f32: a sum of some hundred
/// terms, rounded at 6e-8, also for bf16 operands, whose products are exact.
/// bf16: the same sum, rounded once.
double matmulTolerance(plan::DType output);

/// Expects max |got - wanted| <= tolerance max |wanted|; reports the element.
void expectClose(const std::string& what, const Array& got, const Array& wanted,
                 double tolerance);

} // namespace reciperun::kernels

#endif // RECIPERUN_TEST_KERNELS_CUDAMATRIXCALLS_H
