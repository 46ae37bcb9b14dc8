// A text file whose lines a thread writes: a rank that keeps pace with others
// (comm/Watch.h) is not to be held up by the file system, which may answer
// after a minute.

#ifndef RECIPERUN_TRAIN_LINEWRITER_H
#define RECIPERUN_TRAIN_LINEWRITER_H

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
  /// Waits as `wait` does.
  ~LineWriter();

  /// Has a line written, behind those before. Fails where one of these could
  /// not be, with the file's name; nothing more is written then.
  Status write(std::string_view line);

  /// Waits until the file has all lines, as others see it, or one could not be
  /// written.
  Status wait();

private:
  LineWriter(const std::filesystem::path& path, std::ofstream file);
  void work();

  const std::filesystem::path path;
  std::ofstream file; // the thread's
  std::mutex mutex;
  std::condition_variable news;
  std::string lines; // to be written
  bool isWriting = false, isOver = false;
  Status failure;
  std::thread thread;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_LINEWRITER_H
