// Marks of recordings: kernels note the time, by the clock of the device, in
// words of the host's. An event in a graph would take a place of the queue
// (GraphPace.h) and the device more time than a kernel among kernels.

#ifndef RECIPERUN_DEVICE_CUDA_RECORDEDMARKS_H
#define RECIPERUN_DEVICE_CUDA_RECORDEDMARKS_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <cuda_runtime_api.h>

namespace reciperun::device {

class RecordedMarks {
public:
  RecordedMarks() = default;
  RecordedMarks(const RecordedMarks&) = delete;
  RecordedMarks& operator=(const RecordedMarks&) = delete;
  ~RecordedMarks();

  /// Takes words for so many marks, for which the driver may wait for the
  /// device; for as many again whenever they are used up.
  Status open(int words = 1 << 16);

  int count() const { return marks; }
  /// Enqueues a kernel that notes the time of the next mark.
  Status add(cudaStream_t stream);
  /// The seconds between two that have been noted.
  double seconds(int from, int to) const;

private:
  Status takeBlock();
  uint64_t& word(int mark) const {
    return blocks[size_t(mark / wordsOfBlock)][mark % wordsOfBlock];
  }

  std::vector<uint64_t*> blocks; // pinned
  int wordsOfBlock = 0;
  int marks = 0;
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_RECORDEDMARKS_H
