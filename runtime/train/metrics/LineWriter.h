// A file that a background thread writes, mostly by lines. A rank that must
// keep pace with others (comm/Watch.h) must not block on the file system, which
// may take a minute to answer.

#ifndef RECIPERUN_TRAIN_METRICS_LINEWRITER_H
#define RECIPERUN_TRAIN_METRICS_LINEWRITER_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace reciperun::train {

class LineWriter {
public:
  enum class Mode { truncate, append };

  static Expected<std::unique_ptr<LineWriter>>
  open(const std::filesystem::path& path, Mode mode);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  /// Writes the remaining lines before it returns.
  ~LineWriter();

  /// Queues a line to be written after the earlier ones. Fails with the file's
  /// name when an earlier line could not be written; no more lines are written
  /// then.
  Status write(std::string_view line);
  /// The same for bytes that are no line.
  Status append(std::string_view bytes);

  /// Waits until everything is flushed to the file, or could not be
  /// written.
  Status wait();

private:
  LineWriter(const std::filesystem::path& path, std::ofstream file);
  void work();

  const std::filesystem::path path;
  std::ofstream file; // only used by the thread
  std::mutex mutex;
  std::condition_variable news;
  std::string pending; // bytes to be written
  bool isWriting = false, isOver = false;
  Status failure;
  std::thread thread;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_LINEWRITER_H
