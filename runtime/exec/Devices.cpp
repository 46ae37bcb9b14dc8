// Opens and connects devices. No other file knows which kinds of device exist.

#include "runtime/exec/Devices.h"

#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/kernels/common/Kernels.h"

#ifdef RECIPERUN_CUDA
#include "runtime/comm/ConnectionTable.h"
#include "runtime/comm/NcclCommunicator.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/device/cuda/Architectures.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/kernels/CudaPreparation.h"
#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/data_movement/CudaInitialize.h"
#include "runtime/kernels/decode/DecodeToken.h"
#include "runtime/kernels/dense/JoinedKernels.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/Lanes.h"
#endif

#include <cassert>
#include <utility>

namespace reciperun::exec {
namespace {

using Links = std::unique_ptr<comm::Communicator>;

#ifdef RECIPERUN_CUDA

/// Loading a kernel at its first launch may wait for all work on the GPU. In a
/// pipeline this work includes messages that wait for another stage, and that
/// stage may wait for the kernel.
device::KernelLoading loadingFor(const plan::Plan& plan) {
  return plan::axisSize(plan.mesh, "pp") > 1
             ? device::KernelLoading::atStart
             : device::KernelLoading::atFirstLaunch;
}

/// Uses one hardware queue per stream, up to the device's maximum. A pipeline
/// uses all queues: a message between stages waits for another process, which
/// launches its work in its own order. A stream that waits must therefore not
/// block another one.
int queuesFor(const plan::Plan& plan) {
  return plan::axisSize(plan.mesh, "pp") > 1
             ? device::CudaDevice::mostQueues
             : device::CudaDevice::ownStreams +
                   comm::ConnectionTable(plan).streams();
}

std::vector<device::Variable> environmentOfGpus(const plan::Plan& plan) {
  auto needed =
      device::CudaDevice::environment(queuesFor(plan), loadingFor(plan));
  const auto ofNccl = comm::NcclLibrary::environment();
  needed.insert(needed.end(), ofNccl.begin(), ofNccl.end());
  return needed;
}

Expected<std::unique_ptr<device::Device>>
openGpu(const plan::Plan& plan, const plan::Stage& stage, int place) {
  if (plan.compute == plan::DType::f64)
    return Status::error("the plan computes in f64, which GPUs are not "
                         "programmed for; compile the recipe with `--set "
                         "cluster.hardware=cpu`");
  auto opened = device::CudaDevice::open(
      place, &kernels::findCudaKernel, &kernels::prepareCudaKernel,
      &kernels::drawFirstValues, &kernels::runJoinedCudaKernels,
      {&kernels::countFusedCudaKernels, &kernels::runFusedCudaKernels});
  RECIPERUN_TRY(opened);
  RECIPERUN_TRY((*opened)->checkMemoryBudget(stage.memory));
  if (plan.serving) {
    // A step of few tokens is a chain of small kernels.
    (*opened)->context().overlapKernels();
    RECIPERUN_TRY((*opened)->context().openLanes(sizes::servingLanes));
  }
  return std::unique_ptr<device::Device>(*std::move(opened));
}

Expected<Links> connectGpus(const plan::Plan& plan, Links host,
                            device::Device& device) {
  auto& gpu = static_cast<device::CudaDevice&>(device);
  return comm::NcclCommunicator::make(plan, std::move(host), gpu.context());
}

#else

std::vector<device::Variable> environmentOfGpus(const plan::Plan&) {
  return {};
}

Expected<std::unique_ptr<device::Device>> openGpu(const plan::Plan&,
                                                  const plan::Stage&, int) {
  return Status::error("the plan is for GPUs, and this program was built "
                       "without CUDA; build it where CUDA 12.9 or later is, or "
                       "compile the recipe with `--set cluster.hardware=cpu`");
}

Expected<Links> connectGpus(const plan::Plan&, Links, device::Device&) {
  assert(false && "no GPU has been opened");
  return Status::error("this program was built without CUDA");
}

#endif

} // namespace

int ncclVersion() {
  int version = 0;
#ifdef RECIPERUN_CUDA
  const auto library = comm::NcclLibrary::open();
  if (library && library->GetVersion(&version) != 0)
    return 0;
#endif
  return version;
}

std::string gpuNames() {
#ifdef RECIPERUN_CUDA
  return device::architectureNames();
#else
  return "";
#endif
}

std::vector<device::Variable> environmentOf(const plan::Plan& plan) {
  return plan.device == "cuda" ? environmentOfGpus(plan)
                               : std::vector<device::Variable>();
}

Expected<std::unique_ptr<device::Device>> openDevice(const plan::Plan& plan,
                                                     const plan::Stage& stage,
                                                     int place, int threads) {
  if (plan.device == "cuda")
    return openGpu(plan, stage, place);
  RECIPERUN_TRY(device::startThreads(threads));
  return std::unique_ptr<device::Device>(
      std::make_unique<device::CpuDevice>(threads, &kernels::findKernel));
}

Expected<Links> connectDevices(const plan::Plan& plan, Links host,
                               device::Device& device) {
  if (plan.device == "cuda")
    return connectGpus(plan, std::move(host), device);
  return host;
}

} // namespace reciperun::exec
