// See LoadSampler.h.

#include "runtime/bench/health/LoadSampler.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <chrono>
#include <utility>

namespace reciperun::bench {
namespace {

constexpr std::chrono::milliseconds loadSampleInterval{50};

} // namespace

LoadSampler::LoadSampler(const std::string& library, std::string busId)
    : busId(std::move(busId)) {
  if (this->busId.empty())
    return;
  driver = nvml::Library::open(library);
  if (driver)
    before = driver->health(this->busId);
  if (before)
    thread = comm::threadWithoutSignals([this] { run(); });
}

LoadSampler::~LoadSampler() {
  isOver = true;
  if (thread.joinable())
    thread.join();
}

void LoadSampler::run() {
  do {
    if (const auto now = driver->health(busId))
      reasons |= now->clockReasons.value_or(0);
    std::this_thread::sleep_for(loadSampleInterval);
  } while (!isOver);
}

std::optional<DriverSamples> LoadSampler::finish() {
  isOver = true;
  if (thread.joinable())
    thread.join();
  if (!before)
    return std::nullopt;
  const auto after = driver->health(busId);
  return DriverSamples{*before, after.value_or(*before), reasons};
}

} // namespace reciperun::bench
