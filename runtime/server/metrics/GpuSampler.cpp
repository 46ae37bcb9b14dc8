// See GpuSampler.h.

#include "runtime/server/metrics/GpuSampler.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <chrono>
#include <utility>

namespace reciperun::server {
namespace {

constexpr std::chrono::seconds sampleInterval{2}; // as Triton

} // namespace

GpuSampler::GpuSampler(std::string library)
    : library(std::move(library)),
      thread(comm::threadWithoutSignals([this] { run(); })) {}

GpuSampler::~GpuSampler() {
  {
    const std::lock_guard lock(mutex);
    isOver = true;
  }
  ends.notify_one();
  thread.join();
}

std::vector<nvml::GpuStatus> GpuSampler::last() const {
  const std::lock_guard lock(mutex);
  return sample;
}

void GpuSampler::run() {
  const std::unique_ptr<nvml::Library> driver = nvml::Library::open(library);
  if (!driver)
    return;
  std::unique_lock lock(mutex);
  while (!isOver) {
    lock.unlock();
    std::vector<nvml::GpuStatus> now = driver->sample();
    lock.lock();
    sample = std::move(now);
    ends.wait_for(lock, sampleInterval, [this] { return isOver; });
  }
}

} // namespace reciperun::server
