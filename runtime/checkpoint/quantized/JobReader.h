// Reads the tensors of a directory that is quantized, and counts what has been
// read.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_JOBREADER_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_JOBREADER_H

#include "runtime/checkpoint/quantized/QuantizationJob.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::checkpoint {

class JobReader {
public:
  /// `goesOn` is called after each piece, and its failure cancels; `progress`
  /// with the bytes read and those to read. Both may be empty.
  JobReader(std::function<Status()> goesOn,
            std::function<void(int64_t, int64_t)> progress)
      : goesOn(std::move(goesOn)), progress(std::move(progress)) {}

  /// Adds a tensor that will be read once more.
  void expect(const QuantizationJob& job) { total += job.bytes(); }

  /// Calls `take` with runs of a matrix's rows as floats.
  Status
  forRuns(const QuantizationJob& job,
          const std::function<Status(std::span<const float> values)>& take);
  /// Calls `take` with the tensor's bytes, in pieces.
  Status forPieces(
      const QuantizationJob& job,
      const std::function<Status(std::span<const std::byte> bytes)>& take);
  /// Counts bytes that were not read by this object.
  Status step(int64_t bytes);

private:
  Status readPlain(const QuantizationJob& job, int64_t row,
                   std::span<float> values);

  std::function<Status()> goesOn;
  std::function<void(int64_t, int64_t)> progress;
  int64_t done = 0, total = 0; // bytes of the source
  std::vector<std::byte> source;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_JOBREADER_H
