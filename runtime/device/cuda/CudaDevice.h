// A GPU as a device: ops, copies and marks are enqueued on one stream.

#ifndef RECIPERUN_DEVICE_CUDA_CUDADEVICE_H
#define RECIPERUN_DEVICE_CUDA_CUDADEVICE_H

#include "runtime/device/Device.h"
#include "runtime/device/Environment.h"
#include "runtime/device/KernelTable.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaProfile.h"
#include "runtime/device/cuda/GraphPace.h"
#include "runtime/device/cuda/RecordedMarks.h"
#include "runtime/device/cuda/StagedCopies.h"
#include "runtime/ops/OpKind.h"

#include <array>
#include <memory>
#include <vector>

namespace reciperun::device {

/// Prepares an op on its buffers. Returns a warning for the user, empty when
/// there is none.
using CudaPreparation = Expected<std::string> (*)(const CudaKernelArgs&);
/// Enqueues independent ops as one kernel. Returns false, and enqueues nothing,
/// if there is no such kernel.
using CudaJoin = Expected<bool> (*)(std::span<const CudaKernelArgs>);

/// Counts ops, from the first one on, that one kernel runs; and enqueues them.
struct CudaFusion {
  size_t (*count)(std::span<const OpCall>, const CudaContext&);
  Status (*run)(std::span<const OpCall>, CudaContext&);
};

/// Enqueues the drawing of initial values. Returns false when it cannot draw
/// the given values.
using CudaDraw = Expected<bool> (*)(const FirstValues&, CudaContext&);

/// When the driver loads kernels. Loading a kernel at its first launch may wait
/// for all work on the GPU.
enum class KernelLoading { atFirstLaunch, atStart };

class CudaDevice final : public Device {
public:
  /// The compute stream and a copy stream per direction.
  static constexpr int ownStreams = 3;
  static constexpr int mostQueues = 32;

  /// The environment variables that the driver reads on its first call. The
  /// process's streams share `queues` hardware queues, at least 8. With fewer
  /// queues than streams, work that waits for another rank blocks work behind
  /// it that belongs to other streams. But each queue takes time to open, some
  /// 60 ms when four ranks of a host open theirs, and slows down the queues in
  /// use.
  static std::vector<Variable>
  environment(int queues = mostQueues,
              KernelLoading loading = KernelLoading::atFirstLaunch);

  /// Opens the GPU of the rank with index `place` on its host; the visible GPUs
  /// are assigned round-robin. `findKernel` returns the kernel of an op, or
  /// null when there is none; `prepareKernel` prepares an op; `drawValues`
  /// draws initial values of parameters; `joinKernels` runs independent ops as
  /// one kernel, and `fusion` consecutive ones.
  static Expected<std::unique_ptr<CudaDevice>>
  open(int place, CudaKernel (*findKernel)(plan::OpKind),
       CudaPreparation prepareKernel = nullptr, CudaDraw drawValues = nullptr,
       CudaJoin joinKernels = nullptr, CudaFusion fusion = {});
  ~CudaDevice() override;

  CudaContext& context() { return *gpu; }

  std::string name() const override { return gpu->properties().name; }
  std::string identity() const override;
  std::string address() const override;

  /// Checks that the plan fits in the GPU's free memory (MemoryBudget.h).
  Status checkMemoryBudget(const plan::MemoryTable& memory) const;

  bool hasKernel(plan::OpKind kind) const override;
  Expected<bool> prepare(std::span<const OpCall> calls, Share share) override;
  std::vector<std::string> notes() const override { return told; }
  Status run(const OpCall& call) override;
  int lanes() const override { return gpu->lanes(); }
  Status runConcurrently(std::span<const OpCall> calls) override;
  size_t countFused(std::span<const OpCall> calls) const override;
  Status runFused(std::span<const OpCall> calls) override;
  Expected<bool> draw(const FirstValues& values) override;
  Expected<bool> isIdle() override;

  /// Fails when other processes hold so much of the GPU's memory that too
  /// little is left.
  Expected<memory::Arena> allocate(int64_t bytes, int64_t hostBytes) override;
  bool isHost() const override { return false; }
  Status upload(void* to, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, const void* from) override;
  Status copy(std::span<const StridedCopy> copies) override;
  Status startSaves(std::span<const StridedCopy> copies) override;
  Status finishSaves() override;
  Status clear(void* data, int64_t bytes) override;
  int64_t takenBytes() const override;

  /// Disabled when each launch is synchronous (`CUDA_LAUNCH_BLOCKING=1`), so
  /// that errors name the failing op.
  bool records() const override { return !areLaunchesWaitedFor; }
  Status beginRecording() override;
  Expected<std::unique_ptr<Recording>> endRecording() override;

  int mark() override;
  double seconds(int from, int to) const override;
  void forgetMarks() override { marks = 0; }

  /// Also opens an NVTX range.
  void beginRange(const std::string& name) override;
  void endRange() override;
  /// Fails when activities cannot be collected; attached profilers are notified
  /// in any case.
  Status beginProfile() override;
  Expected<std::vector<Activity>> endProfile() override;

private:
  explicit CudaDevice(std::unique_ptr<CudaContext> context)
      : gpu(std::move(context)) {}
  CudaKernelArgs arguments(const OpCall& call) const;
  Status record(int number);
  void note(const std::string& text);

  std::unique_ptr<CudaContext> gpu;
  std::array<CudaKernel, ops::opKinds> kernels = {};
  CudaPreparation prepareKernel = nullptr;
  CudaJoin joinKernels = nullptr;
  CudaFusion fusion = {};
  CudaDraw drawValues = nullptr;
  std::vector<std::string> told; // see notes
  StagedCopies copies;
  std::vector<cudaEvent_t> events; // of marks, reused
  int marks = 0;
  bool isRecording = false;
  bool areLaunchesWaitedFor = false;
  GraphPace pace; // of recorded graphs
  RecordedMarks recordedMarks;
  mutable Status failedMark;            // reported by isIdle
  std::unique_ptr<CudaProfile> profile; // while activities are collected
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDADEVICE_H
