// Asks the driver on a thread of its own why a GPU's clocks are low while the
// GPU works: the reasons are gone when it is idle.

#ifndef RECIPERUN_BENCH_HEALTH_LOADSAMPLER_H
#define RECIPERUN_BENCH_HEALTH_LOADSAMPLER_H

#include "runtime/bench/health/DriverFindings.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace reciperun::bench {

class LoadSampler {
public:
  /// Samples the GPU with a bus id, `0000:1b:00.0`. Without a driver, or with
  /// an empty bus id, there is nothing to sample.
  LoadSampler(const std::string& library, std::string busId);
  LoadSampler(const LoadSampler&) = delete;
  LoadSampler& operator=(const LoadSampler&) = delete;
  ~LoadSampler();

  /// Ends the sampling; nullopt when there was nothing to sample.
  std::optional<DriverSamples> finish();

private:
  void run();

  std::unique_ptr<nvml::Library> driver;
  std::string busId;
  std::optional<nvml::GpuHealth> before;
  std::atomic<bool> isOver = false;
  std::atomic<uint64_t> reasons = 0;
  std::thread thread; // the last member: it uses the others
};

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_LOADSAMPLER_H
