// Runs GPU kernels on arrays that a test fills.

#include "test/runtime/kernels/CudaMatrixCalls.h"

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace reciperun::kernels {

device::CudaContext* testGpu(std::string* cause) {
  static auto context = device::CudaContext::make(0);
  if (!context && cause)
    *cause = context.message();
  return context ? context->get() : nullptr;
}

void OnGpu::SetUp() {
  std::string cause;
  if (!testGpu(&cause))
    GTEST_SKIP() << cause;
}

DeviceBytes::DeviceBytes(int64_t bytes) {
  const cudaError_t code = cudaMalloc(&address, size_t(bytes));
  EXPECT_EQ(code, cudaSuccess) << "of " << bytes << " bytes";
  // Noise: NaN of every type, for what a kernel must not read.
  EXPECT_EQ(cudaMemset(address, 0xff, size_t(bytes)), cudaSuccess);
}
DeviceBytes::DeviceBytes(DeviceBytes&& other) noexcept
    : address(std::exchange(other.address, nullptr)) {}
DeviceBytes::~DeviceBytes() {
  cudaFree(address);
}

void callOnGpu(plan::OpKind kind, std::vector<Array*> inputs,
               std::vector<Array*> outputs, const Attributes& attributes,
               int64_t workspaceBytes, const Place& place) {
  device::CudaContext* gpu = testGpu();
  ASSERT_NE(gpu, nullptr);
  plan::Op op;
  op.kind = kind;
  op.name = "under test";
  op.attributes = attributes;
  std::vector<DeviceBytes> buffers;
  auto views = [&](const std::vector<Array*>& arrays) {
    std::vector<device::Tensor> result;
    for (Array* array : arrays) {
      device::Tensor view = array ? array->tensor() : device::Tensor{};
      if (array) {
        buffers.emplace_back(view.bytes());
        EXPECT_EQ(cudaMemcpy(buffers.back().data(), view.data,
                             size_t(view.bytes()), cudaMemcpyHostToDevice),
                  cudaSuccess);
        view.data = buffers.back().data();
      }
      result.push_back(view);
    }
    return result;
  };
  const std::vector<device::Tensor> in = views(inputs), out = views(outputs);
  device::Tensor workspace;
  const std::vector<int64_t> workspaceShape = {workspaceBytes / 4};
  if (workspaceBytes) {
    buffers.emplace_back(workspaceBytes);
    workspace = {buffers.back().data(), plan::DType::f32, workspaceShape};
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const device::CudaKernelArgs args{op,         in,         out, workspace,
                                    place.mesh, place.rank, *gpu};
  const device::CudaKernel kernel = findCudaKernel(kind);
  ASSERT_NE(kernel, nullptr) << ops::opName(kind) << " has no kernel on GPUs";
  const Status status = kernel(args);
  ASSERT_TRUE(status.isOk()) << status.message();
  const Status done = gpu->wait();
  ASSERT_TRUE(done.isOk()) << done.message();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const cudaError_t code =
        outputs[i] ? cudaMemcpy(outputs[i]->tensor().data, out[i].data,
                                size_t(out[i].bytes()), cudaMemcpyDeviceToHost)
                   : cudaSuccess;
    ASSERT_EQ(code, cudaSuccess) << "output " << i;
  }
}

double matmulTolerance(plan::DType output) {
  return output == plan::DType::f32 ? 1e-5 : 0x1p-8;
}

void expectClose(const std::string& what, const Array& got, const Array& wanted,
                 double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  double worst = 0, largest = 0;
  int64_t at = -1, wrong = 0;
  for (int64_t i = 0; i < got.size(); ++i)
    largest = std::max(largest, std::abs(wanted.get(i)));
  for (int64_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got.get(i) - wanted.get(i));
    if (!(difference <= tolerance * largest))
      ++wrong;
    if (at < 0 || !(difference <= worst)) {
      worst = difference;
      at = i;
    }
    if (std::isnan(difference))
      break;
  }
  const double error = worst == 0 ? 0 : worst / largest;
  std::printf("  %-58s %9.2e of %.1e\n", what.c_str(), error, tolerance);
  EXPECT_TRUE(error <= tolerance)
      << what << ": element " << at << " is " << got.get(at) << ", not "
      << wanted.get(at) << "; " << wrong << " of " << got.size()
      << " are off by more than " << tolerance * largest;
}

} // namespace reciperun::kernels
