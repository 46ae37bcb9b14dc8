// Copies between a GPU and the host run concurrently with kernels and in the
// order of their calls.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

#include <cuda_runtime_api.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaCopiesTest : public CudaParityTest {
protected:
  Status run(OpKind kind, const device::Tensor& x, const device::Tensor& y) {
    plan::Op op;
    op.kind = kind;
    const device::Tensor in[] = {x}, out[] = {y};
    return findCudaKernel(kind)({op, in, out, {}, {}, 0, *context});
  }
};

TEST_F(CudaCopiesTest, RunBesideKernelsAndInOrder) {
  Array x = numbers(DType::f32, {1 << 20}, 1), zeros(DType::f32, {1 << 20});
  DeviceArray onDevice(x, 0), back(zeros, 0);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, size_t(x.tensor().bytes())), cudaSuccess);
  device::Tensor host = x.tensor();
  host.data = pinned;
  // Copies out, then back to another buffer after that is done; then the source
  // changes.
  EXPECT_TRUE(run(OpKind::CopyBegin, onDevice.tensor(), host).isOk());
  EXPECT_TRUE(run(OpKind::CopyEnd, onDevice.tensor(), host).isOk());
  EXPECT_TRUE(run(OpKind::Zero, onDevice.tensor(), onDevice.tensor()).isOk());
  EXPECT_TRUE(run(OpKind::CopyBegin, host, back.tensor()).isOk());
  EXPECT_TRUE(run(OpKind::CopyEnd, host, back.tensor()).isOk());
  ASSERT_TRUE(context->wait().isOk());
  Array result = zeros;
  back.copyTo(result);
  expectNear("what came back", result, x, exact);
  onDevice.copyTo(result);
  expectNear("what was zeroed", result, zeros, exact);
  cudaFreeHost(pinned);
}

TEST_F(CudaCopiesTest, AnEndNeedsABegin) {
  Array x(DType::f32, {8});
  DeviceArray onDevice(x, 0);
  const Status status =
      run(OpKind::CopyEnd, onDevice.tensor(), onDevice.tensor());
  EXPECT_EQ(status.message(), "no copy to its buffer has begun");
}

} // namespace
} // namespace reciperun::kernels
