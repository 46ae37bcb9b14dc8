// Marks inside recordings: kernels write the device clock's time to words in
// host memory. An event in a graph would take a queue entry (GraphPace.h), and
// more device time than a kernel between kernels.

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

  /// Allocates `words` words, one per mark, and as many again each time they
  /// are used up. The driver may wait for the device.
  Status open(int words = 1 << 16);

  int count() const { return marks; }
  /// Enqueues a kernel that notes the time of the next mark.
  Status add(cudaStream_t stream);
  /// The seconds between two marks that have been noted.
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
