// From the kind of device that a plan names to the device.

#ifndef RECIPERUN_EXEC_DEVICES_H
#define RECIPERUN_EXEC_DEVICES_H

#include "runtime/comm/Communicator.h"
#include "runtime/device/Device.h"
#include "runtime/device/Environment.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace reciperun::exec {

/// The GPUs that this program has kernels for, `9.0 (H100, H200)`; empty where
/// it was built without CUDA.
std::string gpuNames();

/// What the libraries of the plan's devices read from the environment. The
/// command sets it before it starts MPI.
std::vector<device::Variable> environmentOf(const plan::Plan& plan);

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
