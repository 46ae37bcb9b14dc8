// See NcclWatch.h.

#include "runtime/comm/NcclWatch.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/HostWords.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace reciperun::comm {
namespace {

/// The value that the GPU set last.
uint32_t valueOf(uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}

Status set(const device::HostWord& word, cudaStream_t stream) {
  return word.place ? device::setWords(word.place, 1, word.value, stream)
                    : Status::ok();
}

} // namespace

NcclWatch::~NcclWatch() {
  if (watch)
    watch->remove(*this);
  cudaFreeHost(words);
}

Status NcclWatch::start(Watch& asking) {
  constexpr size_t count = mostCounters + mostGraphs * mostStreams;
  RECIPERUN_CUDA_TRY(cudaHostAlloc, reinterpret_cast<void**>(&words),
                     count * sizeof(uint32_t), cudaHostAllocMapped);
  std::fill_n(words, count, 0u);
  watch = &asking;
  watch->add(*this);
  return Status::ok();
}

Status NcclWatch::note(cudaStream_t stream, std::string what) {
  return set(announce(stream, std::move(what)), stream);
}

device::HostWord NcclWatch::announce(cudaStream_t stream, std::string what) {
  if (!watch)
    return {};
  return isRecording ? record(stream, std::move(what))
                     : enter(stream, std::move(what), -1);
}

/// Adds an entry for the stream's next operation, before the stream sets its
/// word.
device::HostWord NcclWatch::enter(cudaStream_t stream, std::string what,
                                  int recording) {
  auto counter =
      std::find_if(counters.begin(), counters.end(),
                   [&](const Counter& each) { return each.stream == stream; });
  const size_t number = size_t(counter - counters.begin());
  if (number == mostCounters)
    return {};
  if (counter == counters.end())
    counter = counters.insert(counter, {stream, 0});
  const uint32_t count = ++counter->count;
  {
    const std::lock_guard lock(mutex);
    underway.push_back({number, count, std::move(what), recording});
  }
  return {words + number, count};
}

Status NcclWatch::beginRecording(cudaStream_t stream) {
  if (!watch)
    return Status::ok();
  isRecording = true;
  uint32_t* own = nullptr;
  {
    const std::lock_guard lock(mutex);
    if (graphs.size() < mostGraphs)
      own = words + mostCounters + graphs.size() * mostStreams;
    graphs.emplace_back().words = own;
  }
  return own ? device::setWords(own, int(mostStreams), 0, stream)
             : Status::ok();
}

/// Adds a collective to the graph and returns the word that it sets.
device::HostWord NcclWatch::record(cudaStream_t stream, std::string what) {
  uint32_t* word = nullptr;
  uint32_t count = 1;
  {
    const std::lock_guard lock(mutex);
    Graph& graph = graphs.back();
    auto found = std::find(graph.streams.begin(), graph.streams.end(), stream);
    const size_t number = size_t(found - graph.streams.begin());
    if (found == graph.streams.end())
      graph.streams.push_back(stream);
    for (const Recorded& each : graph.collectives)
      count += each.stream == number;
    graph.collectives.push_back({std::move(what), number, count});
    if (graph.words && number < mostStreams)
      word = graph.words + number;
  }
  return {word, count};
}

int NcclWatch::endRecording() {
  isRecording = false;
  const std::lock_guard lock(mutex);
  return int(graphs.size()) - 1;
}

Status NcclWatch::noteLaunch(cudaStream_t stream, int recording) {
  if (!watch)
    return Status::ok();
  {
    const std::lock_guard lock(mutex);
    if (graphs[size_t(recording)].collectives.empty())
      return Status::ok();
  }
  return set(enter(stream, {}, recording), stream);
}

/// Counters may wrap.
bool NcclWatch::isDone(const Entry& entry) const {
  return int32_t(valueOf(words[entry.stream]) - entry.count) >= 0;
}

/// Progress inside a running graph counts too.
bool NcclWatch::hasMoved() {
  const std::lock_guard lock(mutex);
  const bool hasEnded = underway.remove_if([this](const Entry& entry) {
    return isDone(entry);
  }) > 0;
  const uint64_t before = std::exchange(seen, doneOfOldest());
  return hasEnded || seen != before;
}

/// The number of completed collectives of the oldest entry if that is a graph,
/// otherwise 0.
uint64_t NcclWatch::doneOfOldest() const {
  if (underway.empty() || underway.front().recording < 0)
    return 0;
  const Graph& graph = graphs[size_t(underway.front().recording)];
  uint64_t sum = 0;
  for (size_t stream = 0; graph.words && stream < mostStreams; ++stream)
    sum += valueOf(graph.words[stream]);
  return sum;
}

std::string NcclWatch::awaited() {
  const std::lock_guard lock(mutex);
  return underway.empty() ? "" : textOf(underway.front());
}

/// The text of an entry. A graph's is the first collective that is not
/// complete.
std::string NcclWatch::textOf(const Entry& entry) const {
  if (entry.recording < 0)
    return entry.what;
  const Graph& graph = graphs[size_t(entry.recording)];
  for (const Recorded& each : graph.collectives)
    if (graph.words && each.stream < mostStreams &&
        valueOf(graph.words[each.stream]) < each.count)
      return each.what;
  return "a graph that has " + graph.collectives.front().what;
}

} // namespace reciperun::comm
