// A GPU profile by CUPTI: each kernel and copy with its time and the range in
// which it was enqueued. CUPTI is opened on first use.

#ifndef RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H
#define RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H

#include "runtime/device/Device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::device {

struct CuptiLibrary;

/// A process can have one at a time.
class CudaProfile {
public:
  /// Begins to collect the activities of all GPUs of the process. Fails when
  /// CUPTI is missing or another profiler uses it.
  static Expected<std::unique_ptr<CudaProfile>> begin();

  CudaProfile(const CudaProfile&) = delete;
  CudaProfile& operator=(const CudaProfile&) = delete;
  ~CudaProfile();

  /// The range of work that this thread enqueues from now on, until pop.
  void push(const std::string& range);
  void pop();

  /// Ends the profile. The GPUs must be idle.
  Expected<std::vector<Activity>> end();

private:
  CudaProfile();

  std::unique_ptr<CuptiLibrary> library;
  std::vector<std::string> ranges; // by their CUPTI id, from 1
  uint64_t begun = 0;              // in CUPTI's nanoseconds
  bool isNoting = false;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H
