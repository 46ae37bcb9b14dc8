// Files that a background thread appends to. A rank that must keep pace with
// others (comm/Watch.h) must not block on the file system, which may take a
// minute to answer.

#ifndef RECIPERUN_TRAIN_METRICS_FILEAPPENDER_H
#define RECIPERUN_TRAIN_METRICS_FILEAPPENDER_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace reciperun::train {

class FileAppender {
public:
  enum class Mode { truncate, append };

  FileAppender();
  FileAppender(const FileAppender&) = delete;
  FileAppender& operator=(const FileAppender&) = delete;
  /// Writes the remaining bytes before it returns.
  ~FileAppender();

  /// Opens a file before bytes are appended to it, and so fails at once.
  Status open(const std::filesystem::path& path, Mode mode);
  /// Queues bytes for the end of a file; it and its folder need not exist.
  /// Fails with the file's name when earlier bytes could not be written; no
  /// more bytes are written then.
  Status append(const std::filesystem::path& path, std::string_view bytes);
  /// Waits until everything is flushed to the files, or could not be written.
  Status wait();

private:
  /// What is to be written to a file, which `append` has not opened.
  struct Piece {
    std::ofstream opened;
    std::string bytes;
  };
  using Pieces = std::map<std::filesystem::path, Piece>;

  void work();
  Status write(Pieces pieces);

  std::map<std::filesystem::path, std::ofstream> files; // of the thread alone
  std::mutex mutex;
  std::condition_variable news;
  Pieces pending;
  bool isWriting = false, isOver = false;
  Status failure;
  std::thread thread;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_FILEAPPENDER_H
