// Samples the GPUs on a thread of its own, so that no scrape waits for a
// driver.

#ifndef RECIPERUN_SERVER_METRICS_GPUSAMPLER_H
#define RECIPERUN_SERVER_METRICS_GPUSAMPLER_H

#include "runtime/nvml/Library.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace reciperun::server {

class GpuSampler {
public:
  explicit GpuSampler(std::string library);
  GpuSampler(const GpuSampler&) = delete;
  GpuSampler& operator=(const GpuSampler&) = delete;
  ~GpuSampler();

  /// Of the last two seconds; none before the first sample, and on a machine
  /// without GPUs.
  std::vector<nvml::GpuStatus> last() const;

private:
  void run();

  std::string library;
  mutable std::mutex mutex; // of all below
  std::condition_variable ends;
  bool isOver = false;
  std::vector<nvml::GpuStatus> sample;
  std::thread thread; // the last member: it uses the others
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_GPUSAMPLER_H
