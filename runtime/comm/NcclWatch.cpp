// See NcclWatch.h.

#include "runtime/comm/NcclWatch.h"

#include "runtime/comm/CudaParts.h"
#include "runtime/device/cuda/CudaError.h"

#include <algorithm>
#include <atomic>
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
  cudaFreeHost(words);
}

NcclWatch::Duration NcclWatch::limitOfEnvironment() {
  if (const char* given = std::getenv("RECIPERUN_COMM_TIMEOUT"))
    if (const long seconds = std::strtol(given, nullptr, 10); seconds > 0)
      return std::chrono::seconds(seconds);
  return std::chrono::minutes(10);
}

Status NcclWatch::start(int ownRank, int ownDevice, Duration longest) {
  rank = ownRank;
  device = ownDevice;
  limit = longest;
  RECIPERUN_CUDA_TRY(cudaHostAlloc, reinterpret_cast<void**>(&words),
                     mostGraphs * mostStreams * sizeof(uint32_t),
                     cudaHostAllocMapped);
  std::fill_n(words, mostGraphs * mostStreams, 0u);
  thread = std::thread([this] { watch(); });
  return Status::ok();
}

Status NcclWatch::note(cudaStream_t stream, std::string what) {
  if (!thread.joinable())
    return Status::ok();
  const std::lock_guard lock(mutex);
  return isRecording ? record(stream, std::move(what))
                     : enter(stream, {nullptr, std::move(what)});
}

/// Takes an event for what has been enqueued, and gives it to the thread.
Status NcclWatch::enter(cudaStream_t stream, Entry entry) {
  if (free.empty()) {
    cudaEvent_t event = nullptr;
    RECIPERUN_CUDA_TRY(cudaEventCreateWithFlags, &event,
                       cudaEventDisableTiming);
    free.push_back({event, {}});
  }
  entry.done = free.front().done;
  RECIPERUN_CUDA_TRY(cudaEventRecord, entry.done, stream);
  free.front() = std::move(entry);
  underway.splice(underway.end(), free, free.begin());
  return Status::ok();
}

Status NcclWatch::beginRecording(cudaStream_t stream) {
  if (!thread.joinable())
    return Status::ok();
  const std::lock_guard lock(mutex);
  isRecording = true;
  Graph& graph = graphs.emplace_back();
  if (graphs.size() > mostGraphs)
    return Status::ok();
  graph.words = words + (graphs.size() - 1) * mostStreams;
  return setWords(graph.words, int(mostStreams), 0, stream);
}

/// Has the graph count what it has done last on a stream.
Status NcclWatch::record(cudaStream_t stream, std::string what) {
  Graph& graph = graphs.back();
  auto found = std::find(graph.streams.begin(), graph.streams.end(), stream);
  const size_t number = size_t(found - graph.streams.begin());
  if (found == graph.streams.end())
    graph.streams.push_back(stream);
  const auto isBefore = [&](const Recorded& each) {
    return each.stream == number;
  };
  const auto before = std::count_if(graph.collectives.begin(),
                                    graph.collectives.end(), isBefore);
  const uint32_t count = uint32_t(before) + 1;
  graph.collectives.push_back({std::move(what), number, count});
  if (!graph.words || number >= mostStreams)
    return Status::ok();
  return setWords(graph.words + number, 1, count, stream);
}

int NcclWatch::endRecording() {
  const std::lock_guard lock(mutex);
  isRecording = false;
  return int(graphs.size()) - 1;
}

Status NcclWatch::noteLaunch(cudaStream_t stream, int recording) {
  if (!thread.joinable())
    return Status::ok();
  const std::lock_guard lock(mutex);
  if (graphs[size_t(recording)].collectives.empty())
    return Status::ok();
  return enter(stream, {nullptr, {}, recording});
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

/// What an entry stands for; of a graph what it has not done yet.
std::string NcclWatch::awaited(const Entry& entry) const {
  if (entry.recording < 0)
    return entry.what;
  const Graph& graph = graphs[size_t(entry.recording)];
  for (const Recorded& each : graph.collectives)
    if (graph.words && each.stream < mostStreams &&
        std::atomic_ref(graph.words[each.stream]).load() < each.count)
      return each.what;
  return "a graph that has " + graph.collectives.front().what;
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
               awaited(underway.front()).c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

} // namespace reciperun::comm
