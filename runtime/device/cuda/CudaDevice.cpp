// The kernel table of the GPU, its memory, and events as marks outside
// recordings.

#include "runtime/device/cuda/CudaDevice.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/CudaRecording.h"
#include "runtime/device/cuda/MemoryBudget.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Plan.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <cuda_profiler_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace reciperun::device {
namespace {

/// Formats CUDA's version number as `12.4`.
std::string versionText(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

/// Whether a launch returns when the kernel is done.
bool waitsForLaunches() {
  const char* given = std::getenv("CUDA_LAUNCH_BLOCKING");
  return given && std::string_view(given) == "1";
}

/// Checks that the driver supports this CUDA runtime. CUDA's own error does not
/// name the versions.
Status checkDriver() {
  int driver = 0, runtime = 0;
  RECIPERUN_CUDA_TRY(cudaDriverGetVersion, &driver);
  RECIPERUN_CUDA_TRY(cudaRuntimeGetVersion, &runtime);
  if (driver == 0)
    return Status::error("this host has no NVIDIA driver for the GPUs; install "
                         "one, or use the CPU: compile the recipe with `--set "
                         "cluster.hardware=cpu`, give a bench `--device cpu`");
  // CUDA's minor versions are compatible from 11 on.
  if (driver / 1000 < runtime / 1000)
    return Status::error("the NVIDIA driver is for CUDA " +
                         versionText(driver) + ", and this program needs " +
                         versionText(runtime / 1000 * 1000) +
                         "; update the driver");
  return Status::ok();
}

/// The number of GPUs that the process may use, at least 1.
Expected<int> visibleGpus() {
  RECIPERUN_TRY(checkDriver());
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaErrorNoDevice)
    RECIPERUN_TRY(cudaStatus(code, "cudaGetDeviceCount"));
  if (count == 0)
    return Status::error("the plan is for GPUs, and none is visible; see "
                         "`nvidia-smi`, and `CUDA_VISIBLE_DEVICES`");
  return count;
}

/// The index of the first mark in a recording; a step has fewer marks outside
/// recordings.
constexpr int firstRecorded = 1 << 30;

Expected<memory::Arena> allocatePinned(int64_t bytes) {
  void* data = nullptr;
  Status taken =
      cudaStatus(cudaHostAlloc(&data, size_t(bytes), cudaHostAllocDefault),
                 "cudaHostAlloc");
  RECIPERUN_TRY(taken.withContext("the host's " + std::to_string(bytes) +
                                  " bytes of offloaded activations"));
  return memory::Arena(static_cast<std::byte*>(data), bytes,
                       [data] { cudaFreeHost(data); });
}

} // namespace

/// With launch queues of four times the default length, the graph of a backward
/// pass fits with all its copies to other ranks. The launch of a graph that
/// does not fit would spin until there is room.
std::vector<Variable> CudaDevice::environment(int queues,
                                              KernelLoading loading) {
  using Wins = Variable::Wins;
  constexpr int fewest = 8; // the driver's own choice
  const int chosen = std::clamp(queues, fewest, mostQueues);
  std::vector<Variable> needed = {
      {"CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(chosen), Wins::program},
      {"CUDA_SCALE_LAUNCH_QUEUES", "4x", Wins::user}};
  if (loading == KernelLoading::atStart)
    needed.push_back({"CUDA_MODULE_LOADING", "EAGER", Wins::user});
  return needed;
}

Expected<std::unique_ptr<CudaDevice>>
CudaDevice::open(int place, CudaKernel (*findKernel)(plan::OpKind),
                 CudaPreparation prepareKernel, CudaDraw drawValues,
                 CudaJoin joinKernels, CudaFusion fusion) {
  Expected<int> visible = visibleGpus();
  RECIPERUN_TRY(visible);
  auto context = CudaContext::make(place % *visible);
  RECIPERUN_TRY(context);
  std::unique_ptr<CudaDevice> device(new CudaDevice(*std::move(context)));
  for (const ops::OpInfo& op : ops::opTable())
    device->kernels[indexOf(op.kind)] = findKernel(op.kind);
  device->areLaunchesWaitedFor = waitsForLaunches();
  device->prepareKernel = prepareKernel;
  device->drawValues = drawValues;
  device->joinKernels = joinKernels;
  device->fusion = fusion;
  RECIPERUN_TRY(device->copies.open());
  RECIPERUN_TRY(device->pace.open());
  RECIPERUN_TRY(device->recordedMarks.open());
  return device;
}

CudaDevice::~CudaDevice() {
  for (cudaEvent_t event : events)
    cudaEventDestroy(event);
}

std::string CudaDevice::identity() const {
  const cudaUUID_t& uuid = gpu->properties().uuid;
  return std::string(uuid.bytes, sizeof uuid.bytes);
}

std::string CudaDevice::address() const {
  const cudaDeviceProp& gpuProperties = gpu->properties();
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x", gpuProperties.pciDomainID,
                gpuProperties.pciBusID, gpuProperties.pciDeviceID);
  return text;
}

Status CudaDevice::checkMemoryBudget(const plan::MemoryTable& memory) const {
  size_t free = 0, total = 0;
  RECIPERUN_CUDA_TRY(cudaMemGetInfo, &free, &total);
  return device::checkMemoryBudget(
      {"GPU " + std::to_string(gpu->device()) + " (`" + name() + "`)",
       int64_t(total), int64_t(free)},
      memory);
}

bool CudaDevice::hasKernel(plan::OpKind kind) const {
  return kernels[indexOf(kind)] != nullptr;
}

Status CudaDevice::run(const OpCall& call) {
  assert(hasKernel(call.op.kind) && "an op that the device can run");
  return kernels[indexOf(call.op.kind)](arguments(call));
}

Status CudaDevice::runConcurrently(std::span<const OpCall> calls) {
  if (joinKernels) {
    std::vector<CudaKernelArgs> all;
    for (const OpCall& call : calls)
      all.push_back(arguments(call));
    const Expected<bool> joined = joinKernels(all);
    RECIPERUN_TRY(joined);
    if (*joined)
      return Status::ok();
  }
  RECIPERUN_TRY(gpu->fork(int(calls.size())));
  Status status;
  for (size_t i = 0; i < calls.size() && status.isOk(); ++i) {
    gpu->select(int(i));
    status = run(calls[i]);
  }
  gpu->select(0);
  RECIPERUN_TRY(status);
  return gpu->join(int(calls.size()));
}

size_t CudaDevice::countFused(std::span<const OpCall> calls) const {
  return fusion.count ? fusion.count(calls, *gpu) : 0;
}

Status CudaDevice::runFused(std::span<const OpCall> calls) {
  return fusion.run(calls, *gpu);
}

CudaKernelArgs CudaDevice::arguments(const OpCall& call) const {
  return {call.op,   call.inputs, call.outputs, call.workspace,
          call.mesh, call.rank,   *gpu};
}

Expected<bool> CudaDevice::prepare(std::span<const OpCall> calls, Share share) {
  if (!prepareKernel)
    return false;
  gpu->products().takeShare(share);
  for (const OpCall& call : calls) {
    const Expected<std::string> told = prepareKernel(arguments(call));
    RECIPERUN_TRY(told);
    note(*told);
  }
  note(gpu->products().notice());
  note(gpu->attentionPlans().notice());
  // Choices that cannot be saved are made again by the next run.
  note(gpu->products().save().message());
  return true;
}

/// Adds a warning unless it was added before.
void CudaDevice::note(const std::string& text) {
  if (!text.empty() && std::find(told.begin(), told.end(), text) == told.end())
    told.push_back(text);
}

Expected<bool> CudaDevice::draw(const FirstValues& values) {
  return drawValues ? drawValues(values, *gpu) : Expected<bool>(false);
}

Expected<bool> CudaDevice::isIdle() {
  RECIPERUN_TRY(failedMark);
  const cudaError_t code = cudaStreamQuery(gpu->stream());
  if (code == cudaErrorNotReady) {
    cudaGetLastError(); // or a launch check reports it
    return false;
  }
  RECIPERUN_TRY(cudaStatus(code, "cudaStreamQuery"));
  return true;
}

Expected<memory::Arena> CudaDevice::allocate(int64_t bytes, int64_t hostBytes) {
  constexpr int64_t page = sizes::mappedPageBytes; // other ranks may map it
  const int64_t whole = (bytes + page - 1) / page * page;
  void* data = nullptr;
  Status taken = cudaStatus(cudaMalloc(&data, size_t(whole)), "cudaMalloc");
  RECIPERUN_TRY(taken.withContext("the plan's arena of " +
                                  std::to_string(bytes) + " bytes"));
  memory::Arena arena(static_cast<std::byte*>(data), bytes,
                      [data] { cudaFree(data); });
  RECIPERUN_TRY(clear(data, bytes));
  if (hostBytes == 0)
    return arena;
  Expected<memory::Arena> host = allocatePinned(hostBytes);
  RECIPERUN_TRY(host);
  arena.setHost(*std::move(host));
  return arena;
}

// Any thread may call upload and download, and a new thread's device is GPU 0.
Status CudaDevice::upload(void* to, std::span<const std::byte> from) {
  RECIPERUN_CUDA_TRY(cudaSetDevice, gpu->device());
  return copies.upload(gpu->stream(), to, from);
}

Status CudaDevice::download(std::span<std::byte> to, const void* from) {
  RECIPERUN_CUDA_TRY(cudaSetDevice, gpu->device());
  return copies.download(gpu->stream(), to, from);
}

Status CudaDevice::copy(std::span<const StridedCopy> copies) {
  return enqueueCopies(gpu->stream(), copies);
}

Status CudaDevice::startSaves(std::span<const StridedCopy> copies) {
  return gpu->copies().startSaves(gpu->stream(), copies);
}

Status CudaDevice::finishSaves() {
  return gpu->copies().finishSaves(gpu->stream());
}

Status CudaDevice::clear(void* data, int64_t bytes) {
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, data, 0, size_t(bytes), gpu->stream());
  return Status::ok();
}

int64_t CudaDevice::takenBytes() const {
  size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess)
    return 0;
  return int64_t(total - free);
}

Status CudaDevice::beginRecording() {
  RECIPERUN_TRY(CudaRecording::begin(gpu->stream()));
  isRecording = true;
  return Status::ok();
}

Expected<std::unique_ptr<Recording>> CudaDevice::endRecording() {
  isRecording = false;
  return CudaRecording::end(gpu->stream(), pace);
}

int CudaDevice::mark() {
  const int number = isRecording ? recordedMarks.count() : marks++;
  const Status status =
      isRecording ? recordedMarks.add(gpu->stream()) : record(number);
  if (!status.isOk())
    failedMark = status;
  return isRecording ? firstRecorded + number : number;
}

/// Enqueues a mark's event, creating it if needed.
Status CudaDevice::record(int number) {
  RECIPERUN_TRY(failedMark);
  if (size_t(number) == events.size()) {
    cudaEvent_t event = nullptr;
    RECIPERUN_CUDA_TRY(cudaEventCreate, &event);
    events.push_back(event);
  }
  RECIPERUN_CUDA_TRY(cudaEventRecord, events[size_t(number)], gpu->stream());
  return Status::ok();
}

double CudaDevice::seconds(int from, int to) const {
  assert((from < firstRecorded) == (to < firstRecorded));
  if (from >= firstRecorded)
    return recordedMarks.seconds(from - firstRecorded, to - firstRecorded);
  if (!failedMark.isOk())
    return 0;
  float milliseconds = 0;
  const auto elapsed = [&]() -> Status {
    RECIPERUN_CUDA_TRY(cudaEventElapsedTime, &milliseconds,
                       events[size_t(from)], events[size_t(to)]);
    return Status::ok();
  };
  failedMark = elapsed();
  return failedMark.isOk() ? double(milliseconds) / 1000 : 0;
}

void CudaDevice::beginRange(const std::string& name) {
  nvtxRangePushA(name.c_str());
  if (profile)
    profile->push(name);
}

void CudaDevice::endRange() {
  nvtxRangePop();
  if (profile)
    profile->pop();
}

Status CudaDevice::beginProfile() {
  RECIPERUN_TRY(gpu->wait());
  RECIPERUN_CUDA_TRY(cudaProfilerStart);
  auto begun = CudaProfile::begin();
  RECIPERUN_TRY(begun);
  profile = *std::move(begun);
  return Status::ok();
}

Expected<std::vector<Activity>> CudaDevice::endProfile() {
  RECIPERUN_CUDA_TRY(cudaProfilerStop);
  const std::unique_ptr<CudaProfile> ended = std::move(profile);
  return ended ? ended->end() : std::vector<Activity>();
}

} // namespace reciperun::device
