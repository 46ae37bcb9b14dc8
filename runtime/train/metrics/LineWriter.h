// A file that a background thread writes, mostly by lines.

#ifndef RECIPERUN_TRAIN_METRICS_LINEWRITER_H
#define RECIPERUN_TRAIN_METRICS_LINEWRITER_H

#include "runtime/train/metrics/FileAppender.h"

#include <memory>

namespace reciperun::train {

class LineWriter {
public:
  using Mode = FileAppender::Mode;

  static Expected<std::unique_ptr<LineWriter>>
  open(const std::filesystem::path& path, Mode mode);

  /// Queues a line to be written after the earlier ones; see
  /// FileAppender::append.
  Status write(std::string_view line) {
    return append(std::string(line) + '\n');
  }
  /// The same for bytes that are no line.
  Status append(std::string_view bytes) { return files.append(path, bytes); }
  Status wait() { return files.wait(); }

private:
  explicit LineWriter(const std::filesystem::path& path) : path(path) {}

  const std::filesystem::path path;
  FileAppender files;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_LINEWRITER_H
