// The end of a measurement on a device.

#ifndef RECIPERUN_BENCH_WAITFORDEVICE_H
#define RECIPERUN_BENCH_WAITFORDEVICE_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <thread>

namespace reciperun::bench {

/// Waits until all work that was enqueued on the device is done.
inline Status waitUntilIdle(device::Device& device) {
  for (;;) {
    const Expected<bool> idle = device.isIdle();
    RECIPERUN_TRY(idle);
    if (*idle)
      return Status::ok();
    std::this_thread::yield();
  }
}

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_WAITFORDEVICE_H
