// Runs kernels on a GPU and compares their results with those of the CPU.

#include "test/runtime/kernels/CudaHarness.h"

#include "runtime/kernels/dense/JoinedKernels.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/OpCheck.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <sstream>

#include <cuda_runtime_api.h>

namespace reciperun::kernels {
namespace {

std::string describe(const Array* array) {
  if (!array)
    return "-";
  std::string text = std::string(ops::dtypeName(array->dtype())) + "[";
  for (size_t i = 0; i < array->shape().size(); ++i)
    text += (i ? "," : "") + std::to_string(array->shape()[i]);
  return text + "]";
}

struct AttributeText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    std::ostringstream text;
    text << value;
    return text.str();
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string text;
    for (const std::string& value : values)
      text += value + ";";
    return text;
  }
};

void check(cudaError_t code, const char* call) {
  ASSERT_EQ(code, cudaSuccess) << call << ": " << cudaGetErrorString(code);
}

/// Copies of the distinct arrays of a case, and the case over the copies.
class Copies {
public:
  explicit Copies(const ParityCase& of) : now(of) {
    for (std::vector<Array*>* list : {&now.inputs, &now.outputs})
      for (Array*& array : *list)
        if (array)
          array = copyOf(array);
  }
  ParityCase& operator*() { return now; }

private:
  Array* copyOf(Array* original) {
    auto [at, isNew] = copies.emplace(original, nullptr);
    if (isNew)
      at->second = &held.emplace_back(*original);
    return at->second;
  }

  ParityCase now;
  std::deque<Array> held;
  std::map<Array*, Array*> copies;
};

/// A case on copies of its arrays on the GPU.
class GpuCall {
public:
  GpuCall(const ParityCase& of, device::CudaContext& context)
      : of(of), context(context), in(views(of.inputs)), out(views(of.outputs)) {
    op.kind = of.kind;
    op.name = "under test";
    op.attributes = of.attributes;
    if (of.workspace) {
      noise = Array::random(plan::DType::f32, {of.workspace}, 9);
      workspace = held.emplace_back(noise, 0).tensor();
    }
  }

  device::CudaKernelArgs arguments() const {
    return {op, in, out, workspace, of.place.mesh, of.place.rank, context};
  }

  void copyOutputs() const {
    for (Array* array : of.outputs)
      if (array)
        copies.at(array)->copyTo(*array);
  }

private:
  std::vector<device::Tensor> views(const std::vector<Array*>& arrays) {
    std::vector<device::Tensor> result;
    for (Array* array : arrays) {
      if (array && !copies.count(array))
        copies[array] = &held.emplace_back(*array, of.shift);
      result.push_back(array ? copies[array]->tensor() : device::Tensor{});
    }
    return result;
  }

  const ParityCase& of;
  device::CudaContext& context;
  std::deque<DeviceArray> held;
  std::map<Array*, DeviceArray*> copies;
  plan::Op op;
  std::vector<device::Tensor> in, out;
  Array noise;
  device::Tensor workspace;
};

bool isSameBits(Array& a, Array& b) {
  return std::memcmp(a.tensor().data, b.tensor().data,
                     size_t(a.tensor().bytes())) == 0;
}

} // namespace

DeviceArray::DeviceArray(Array& array, int64_t shift) : view(array.tensor()) {
  const auto bytes = size_t(view.bytes());
  const auto before = size_t(shift * plan::byteSize(view.type));
  check(cudaMalloc(&allocation, bytes + before + 1), "cudaMalloc");
  view.data = static_cast<std::byte*>(allocation) + before;
  check(
      cudaMemcpy(view.data, array.tensor().data, bytes, cudaMemcpyHostToDevice),
      "copy to the GPU");
  // A copy from pageable memory may return before its bytes arrive, and the
  // context's stream does not wait for it.
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

DeviceArray::~DeviceArray() {
  cudaFree(allocation);
}

void DeviceArray::copyTo(Array& array) const {
  check(cudaMemcpy(array.tensor().data, view.data, size_t(view.bytes()),
                   cudaMemcpyDeviceToHost),
        "copy from the GPU");
}

std::string describe(const ParityCase& of) {
  std::string text = ops::opName(of.kind);
  for (const std::vector<Array*>* list : {&of.inputs, &of.outputs}) {
    text += list == &of.outputs ? " ->" : "";
    for (const Array* array : *list)
      text += " " + describe(array);
  }
  for (const auto& [name, value] : of.attributes)
    text += " " + name + "=" + std::visit(AttributeText(), value);
  if (of.shift)
    text += " shifted by " + std::to_string(of.shift) + " elements";
  return text;
}

std::unique_ptr<device::CudaContext> CudaParityTest::context;

void CudaParityTest::SetUp() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
    GTEST_SKIP() << "no GPU here: its kernels are not compared";
  if (context) {
    const Status status = context->wait();
    ASSERT_TRUE(status.isOk())
        << "an earlier test has lost the GPU: " << status.message();
    return;
  }
  auto made = device::CudaContext::make(0);
  ASSERT_TRUE(bool(made)) << made.message();
  context = std::move(*made);
  context->overlapKernels();
}

Status CudaParityTest::tryOnGpu(const ParityCase& of) {
  const GpuCall call(of, *context);
  const device::CudaKernel kernel = findCudaKernel(of.kind);
  if (!kernel)
    return Status::error("the table has no kernel");
  RECIPERUN_TRY(kernel(call.arguments()));
  RECIPERUN_TRY(context->wait());
  call.copyOutputs();
  return Status::ok();
}

Expected<bool> CudaParityTest::joinOnGpu(const std::vector<ParityCase>& all) {
  std::deque<GpuCall> calls;
  std::vector<device::CudaKernelArgs> arguments;
  for (const ParityCase& of : all)
    arguments.push_back(calls.emplace_back(of, *context).arguments());
  Expected<bool> joined = runJoinedCudaKernels(arguments);
  RECIPERUN_TRY(joined);
  RECIPERUN_TRY(context->wait());
  for (const GpuCall& call : calls)
    call.copyOutputs();
  return joined;
}

void CudaParityTest::runOnGpu(const ParityCase& of) {
  const Status status = tryOnGpu(of);
  ASSERT_TRUE(status.isOk()) << describe(of) << ": " << status.message();
}

void CudaParityTest::compare(const ParityCase& of,
                             std::vector<Tolerance> tolerances) {
  if (HasFatalFailure())
    return; // the GPU is lost; further errors are noise
  Copies gpu(of), again(of);
  ASSERT_NO_FATAL_FAILURE(runOnGpu(*gpu));
  ASSERT_NO_FATAL_FAILURE(runOnGpu(*again));
  call(of.kind, of.inputs, of.outputs, of.attributes, of.place);
  tolerances.resize(of.outputs.size(), tolerances.back());
  for (size_t i = 0; i < of.outputs.size(); ++i) {
    if (!of.outputs[i])
      continue;
    const std::string what = describe(of) + ", output " + std::to_string(i);
    Array& first = *(*gpu).outputs[i];
    expectNear(what, first, *of.outputs[i], tolerances[i]);
    EXPECT_TRUE(isSameBits(first, *(*again).outputs[i]))
        << what << ": two runs differ";
  }
}

void expectNear(const std::string& what, const Array& gpu, const Array& cpu,
                Tolerance tolerance) {
  double largest = 0;
  for (int64_t i = 0; i < cpu.size(); ++i)
    if (std::isfinite(cpu.get(i)))
      largest = std::max(largest, std::abs(cpu.get(i)));
  int64_t worst = -1, count = 0;
  double most = 0;
  for (int64_t i = 0; i < cpu.size(); ++i) {
    const double a = gpu.get(i), b = cpu.get(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    const double allowed =
        tolerance.relative * std::abs(b) + tolerance.ofLargest * largest;
    const double excess = std::abs(a - b) / allowed;
    if (excess <= 1)
      continue;
    ++count;
    if (worst < 0 || !(excess <= most)) {
      worst = i;
      most = excess;
    }
  }
  EXPECT_EQ(count, 0) << what << ": " << count << " of " << cpu.size()
                      << " elements differ; worst is element " << worst
                      << ", GPU " << gpu.get(std::max<int64_t>(worst, 0))
                      << ", CPU " << cpu.get(std::max<int64_t>(worst, 0))
                      << ", " << most << " times what is allowed ("
                      << tolerance.relative << " of it and "
                      << tolerance.ofLargest << " of " << largest << ")";
}

} // namespace reciperun::kernels
