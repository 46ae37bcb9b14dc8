// What a GPU does, by CUPTI: each kernel and copy with its time and the range
// that it was enqueued in. CUPTI is opened when it is first wanted.

#ifndef RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H
#define RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H

#include "runtime/device/Device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::device {

struct CuptiLibrary;

/// One at a time in a process.
class CudaProfile {
public:
  /// Begins to note what all GPUs of the process do. Fails where there is no
  /// CUPTI, or another profiler has it.
  static Expected<std::unique_ptr<CudaProfile>> begin();

  CudaProfile(const CudaProfile&) = delete;
  CudaProfile& operator=(const CudaProfile&) = delete;
  ~CudaProfile();

  /// What is enqueued from now on, by this thread, is in the range, until pop.
  void push(const std::string& range);
  void pop();

  /// Ends that, of GPUs that are idle.
  Expected<std::vector<Activity>> end();

private:
  CudaProfile();

  std::unique_ptr<CuptiLibrary> library;
  std::vector<std::string> ranges; // by their number at CUPTI, from 1
  uint64_t begun = 0;              // in CUPTI's nanoseconds
  bool isNoting = false;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDAPROFILE_H
