// Opens and connects the kind of device that a plan names.

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

/// The GPUs that this program has kernels for, `9.0 (H100, H200)`; empty when
/// it was built without CUDA.
std::string gpuNames();

/// NCCL's version as ncclGetVersion returns it, 22809 for 2.28.9; 0 where the
/// program was built without CUDA or NCCL is missing.
int ncclVersion();

/// The environment variables that the libraries of the plan's devices read. The
/// command sets them before it starts MPI.
std::vector<device::Variable> environmentOf(const plan::Plan& plan);

/// Opens the device of the rank with index `place` on its host. The device uses
/// `threads` host threads. Fails when this build or this host lacks a device of
/// that kind.
Expected<std::unique_ptr<device::Device>> openDevice(const plan::Plan& plan,
                                                     const plan::Stage& stage,
                                                     int place, int threads);

/// Returns a communicator for the memory of the ranks' devices. It is built on
/// `host`, the communicator for host memory. Collective.
Expected<std::unique_ptr<comm::Communicator>>
connectDevices(const plan::Plan& plan, std::unique_ptr<comm::Communicator> host,
               device::Device& device);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_DEVICES_H
