// The cores of a CPU rank as a device: every call completes before it returns.

#ifndef RECIPERUN_DEVICE_CPU_CPUDEVICE_H
#define RECIPERUN_DEVICE_CPU_CPUDEVICE_H

#include "runtime/device/Device.h"
#include "runtime/device/KernelTable.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/ops/OpKind.h"

#include <array>
#include <chrono>
#include <vector>

namespace reciperun::device {

class CpuDevice final : public Device {
public:
  /// `findKernel` returns the kernel of an op, or null when there is none;
  /// without it the device only has memory. `threads` is at least 1.
  explicit CpuDevice(int threads, Kernel (*findKernel)(plan::OpKind) = nullptr);

  std::string name() const override;

  bool hasKernel(plan::OpKind kind) const override;
  Status run(const OpCall& call) override;
  Expected<bool> isIdle() override { return true; }

  Expected<memory::Arena> allocate(int64_t bytes, int64_t hostBytes) override;
  bool isHost() const override { return true; }
  Status upload(void* to, std::span<const std::byte> from) override;
  Status download(std::span<std::byte> to, const void* from) override;
  Status copy(std::span<const StridedCopy> copies) override;
  Status clear(void* data, int64_t bytes) override;
  int64_t takenBytes() const override { return 0; }

  int mark() override;
  double seconds(int from, int to) const override;
  void forgetMarks() override { marks.clear(); }

private:
  using Clock = std::chrono::steady_clock;

  CpuContext context;
  std::array<Kernel, ops::opKinds> kernels = {};
  std::vector<Clock::time_point> marks;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_CPUDEVICE_H
