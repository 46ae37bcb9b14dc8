// See RecordedMarks.h.

#include "runtime/device/cuda/RecordedMarks.h"

#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/HostWords.h"

#include <algorithm>

namespace reciperun::device {

RecordedMarks::~RecordedMarks() {
  for (uint64_t* block : blocks)
    cudaFreeHost(block);
}

Status RecordedMarks::open(int words) {
  wordsOfBlock = words;
  return takeBlock();
}

Status RecordedMarks::takeBlock() {
  void* taken = nullptr;
  RECIPERUN_CUDA_TRY(cudaHostAlloc, &taken,
                     size_t(wordsOfBlock) * sizeof(uint64_t),
                     cudaHostAllocMapped);
  blocks.push_back(static_cast<uint64_t*>(taken));
  std::fill_n(blocks.back(), wordsOfBlock, uint64_t(0));
  return Status::ok();
}

Status RecordedMarks::add(cudaStream_t stream) {
  if (marks == int(blocks.size()) * wordsOfBlock)
    RECIPERUN_TRY(takeBlock());
  return noteTime(&word(marks++), stream);
}

double RecordedMarks::seconds(int from, int to) const {
  constexpr double nanosecond = 1e-9;
  return double(int64_t(word(to) - word(from))) * nanosecond;
}

} // namespace reciperun::device
