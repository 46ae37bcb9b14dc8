// The kernel table of the CPU, and host memory, which needs no copies.

#include "runtime/device/cpu/CpuDevice.h"

#include "runtime/ops/OpTable.h"

#include <cassert>
#include <cstring>

namespace reciperun::device {

CpuDevice::CpuDevice(int threads, Kernel (*findKernel)(plan::OpKind))
    : context(threads) {
  if (!findKernel)
    return;
  for (const ops::OpInfo& op : ops::opTable())
    kernels[indexOf(op.kind)] = findKernel(op.kind);
}

std::string CpuDevice::name() const {
  return std::to_string(context.threads()) +
         (context.threads() == 1 ? " thread" : " threads");
}

bool CpuDevice::hasKernel(plan::OpKind kind) const {
  return kernels[indexOf(kind)] != nullptr;
}

Status CpuDevice::run(const OpCall& call) {
  assert(hasKernel(call.op.kind) && "an op that the device can run");
  return kernels[indexOf(call.op.kind)]({call.op, call.inputs, call.outputs,
                                         call.workspace, call.mesh, call.rank,
                                         context});
}

Expected<memory::Arena> CpuDevice::allocate(int64_t bytes, int64_t hostBytes) {
  return memory::Arena::allocate(bytes, hostBytes);
}

Status CpuDevice::upload(void* to, std::span<const std::byte> from) {
  std::memcpy(to, from.data(), from.size());
  return Status::ok();
}

Status CpuDevice::download(std::span<std::byte> to, const void* from) {
  std::memcpy(to.data(), from, to.size());
  return Status::ok();
}

Status CpuDevice::copy(std::span<const StridedCopy> copies) {
  for (const StridedCopy& each : copies)
    for (int64_t row = 0; row < each.rows; ++row)
      std::memcpy(static_cast<std::byte*>(each.to) + row * each.toStride,
                  static_cast<const std::byte*>(each.from) +
                      row * each.fromStride,
                  size_t(each.bytes));
  return Status::ok();
}

Status CpuDevice::clear(void* data, int64_t bytes) {
  std::memset(data, 0, size_t(bytes));
  return Status::ok();
}

int CpuDevice::mark() {
  marks.push_back(Clock::now());
  return int(marks.size()) - 1;
}

double CpuDevice::seconds(int from, int to) const {
  return std::chrono::duration<double>(marks[size_t(to)] - marks[size_t(from)])
      .count();
}

} // namespace reciperun::device
