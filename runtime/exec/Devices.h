// From the kind of device that a plan names to the device.

#ifndef RECIPERUN_EXEC_DEVICES_H
#define RECIPERUN_EXEC_DEVICES_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>

namespace reciperun::exec {

/// The GPUs that this program has kernels for, `9.0 (H100, H200)`; empty where
/// it was built without CUDA.
std::string gpuNames();

/// The device of a rank, which is number `place` on its host and has `threads`
/// threads there. Fails where this build or this host has none of the kind.
Expected<std::unique_ptr<device::Device>> openDevice(const plan::Plan& plan,
                                                     const plan::Stage& stage,
                                                     int place, int threads);

/// Collectives on the memory of the ranks' devices, by those on the memory of
/// their hosts. Collective itself.
Expected<std::unique_ptr<comm::Communicator>>
connectDevices(const plan::Plan& plan, std::unique_ptr<comm::Communicator> host,
               device::Device& device);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_DEVICES_H
