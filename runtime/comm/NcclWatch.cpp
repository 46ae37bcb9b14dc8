// See NcclWatch.h.

#include "runtime/comm/NcclWatch.h"

#include "runtime/device/cuda/CudaError.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace reciperun::comm {

NcclWatch::~NcclWatch() {
  if (thread.joinable()) {
    {
      const std::lock_guard lock(mutex);
      isStopping = true;
    }
    stopped.notify_one();
    thread.join();
  }
  for (const std::list<Entry>* entries : {&underway, &free})
    for (const Entry& entry : *entries)
      cudaEventDestroy(entry.done);
}

NcclWatch::Duration NcclWatch::limitOfEnvironment() {
  if (const char* given = std::getenv("RECIPERUN_COMM_TIMEOUT"))
    if (const long seconds = std::strtol(given, nullptr, 10); seconds > 0)
      return std::chrono::seconds(seconds);
  return std::chrono::minutes(10);
}

void NcclWatch::start(int ownRank, int ownDevice, Duration longest) {
  rank = ownRank;
  device = ownDevice;
  limit = longest;
  thread = std::thread([this] { watch(); });
}

Status NcclWatch::note(cudaStream_t stream, std::string what) {
  if (!thread.joinable())
    return Status::ok();
  const std::lock_guard lock(mutex);
  if (free.empty()) {
    cudaEvent_t event = nullptr;
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &event,
                       cudaEventDisableTiming);
    free.push_back({event, {}});
  }
  RECIPERUN_CUDA_TRY(cudaEventRecord, free.front().done, stream);
  free.front().what = std::move(what);
  underway.splice(underway.end(), free, free.begin());
  return Status::ok();
}

void NcclWatch::watch() {
  constexpr std::chrono::milliseconds pause(500);
  cudaSetDevice(device);
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, pause, [this] { return isStopping; })) {
    // Not the clock's time: a job may be stopped as a whole, and go on.
    waited += pause;
    removeDone();
    if (waited > limit)
      endJob();
  }
}

void NcclWatch::removeDone() {
  for (auto entry = underway.begin(); entry != underway.end();) {
    const auto next = std::next(entry);
    // A failure of the GPU is told by the thread that meets it.
    if (cudaEventQuery(entry->done) != cudaErrorNotReady) {
      free.splice(free.end(), underway, entry);
      waited = {};
    }
    entry = next;
  }
  cudaGetLastError(); // that something is under way is no error
  if (underway.empty())
    waited = {};
}

void NcclWatch::endJob() const {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(limit).count();
  std::fflush(stdout);
  std::fprintf(stderr,
               "rank %d: error: has waited for %lld s for %s; a rank of them "
               "hangs or is far behind: its own messages say more, or set "
               "`RECIPERUN_COMM_TIMEOUT` to more seconds\n",
               rank, static_cast<long long>(seconds),
               underway.front().what.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

} // namespace reciperun::comm
