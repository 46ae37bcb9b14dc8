// Event files of TensorBoard, with the scalars of each step.
//
// A file is a sequence of records (tensorflow/core/lib/io/record_writer.h), all
// numbers little-endian: u64 length, u32 masked CRC-32C of the length, the
// bytes, u32 masked CRC-32C of the bytes. The bytes are an Event message
// (tensorboard/compat/proto/event.proto, summary.proto) in the wire format of
// protobuf, of which only a few fields are written.

#ifndef RECIPERUN_TRAIN_METRICS_TENSORBOARDFILE_H
#define RECIPERUN_TRAIN_METRICS_TENSORBOARDFILE_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/LineWriter.h"
#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace reciperun::train {

class TensorBoardFile {
public:
  /// Creates a file in the folder, which TensorBoard shows as one run with the
  /// files that there are. The run has done `steps` steps: TensorBoard forgets
  /// later ones in those files.
  static Expected<TensorBoardFile> create(const std::filesystem::path& folder,
                                          double time, int64_t steps);

  /// Fails when an earlier step could not be written.
  Status write(const StepRecord& record);
  Status wait() { return bytes->wait(); }

private:
  std::unique_ptr<LineWriter> bytes;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_TENSORBOARDFILE_H
