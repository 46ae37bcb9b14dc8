// User-facing explanations of CUDA runtime errors.

#include "runtime/device/cuda/CudaError.h"

#include "runtime/device/cuda/Architectures.h"

#include <string>

namespace reciperun::device {
namespace {

/// The remedy for an error; empty when its text says all.
std::string wayOut(cudaError_t code) {
  switch (code) {
  case cudaErrorNoDevice:
    return "no GPU is visible: see `nvidia-smi`, and `CUDA_VISIBLE_DEVICES` if "
           "it is set";
  case cudaErrorInvalidDevice:
    return "fewer GPUs are visible than ranks run on this host: start fewer, "
           "or see `CUDA_VISIBLE_DEVICES`";
  case cudaErrorInsufficientDriver:
  case cudaErrorSystemDriverMismatch:
  case cudaErrorCompatNotSupportedOnDevice:
    return "there is no driver, or one that is too old for this program: "
           "`nvidia-smi` shows which version of CUDA it is for";
  case cudaErrorSystemNotReady:
    return "the driver is not ready: on hosts with NVSwitch "
           "`nvidia-fabricmanager` must run";
  case cudaErrorDevicesUnavailable:
    return "another process holds the GPU: `nvidia-smi` shows which, and the "
           "compute mode";
  case cudaErrorMemoryAllocation:
    return "`nvidia-smi` shows which processes hold memory of the GPU";
  case cudaErrorNoKernelImageForDevice:
  case cudaErrorInvalidDeviceFunction:
    return "this program is built for GPUs of compute capability " +
           architectureNames();
  case cudaErrorECCUncorrectable:
  case cudaErrorUnknown:
  case cudaErrorHardwareStackError:
  case cudaErrorNvlinkUncorrectable:
  case cudaErrorContained:
    return "the GPU has failed: `nvidia-smi -q` and the kernel's log say why; "
           "leave it out of the run";
  case cudaErrorIllegalAddress:
  case cudaErrorMisalignedAddress:
  case cudaErrorIllegalInstruction:
  case cudaErrorInvalidPc:
  case cudaErrorLaunchFailure:
  case cudaErrorAssert:
    return "a kernel before this call went wrong, which is a bug of this "
           "program: with `CUDA_LAUNCH_BLOCKING=1` in the environment the op "
           "is named";
  default:
    return "";
  }
}

} // namespace

Status cudaStatus(cudaError_t code, const char* call) {
  if (code == cudaSuccess)
    return Status::ok();
  cudaGetLastError(); // clears the error, so that no launch check reports it
  std::string text = std::string("`") + call +
                     "` failed: " + cudaGetErrorString(code) + " (" +
                     cudaGetErrorName(code) + ")";
  if (const std::string help = wayOut(code); !help.empty())
    text += "; " + help;
  return Status::error(text);
}

} // namespace reciperun::device
