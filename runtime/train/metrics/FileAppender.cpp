// See FileAppender.h. The thread writes all that is pending at once.

#include "runtime/train/metrics/FileAppender.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace reciperun::train {
namespace {

/// A run may append to a file for each of its parameters.
constexpr size_t mostOpenFiles = 64;

Status cannotWrite(const std::filesystem::path& path) {
  return Status::error("cannot write `" + path.string() +
                       "`: " + std::strerror(errno));
}

} // namespace

FileAppender::FileAppender()
    : thread(comm::threadWithoutSignals([this] { work(); })) {}

FileAppender::~FileAppender() {
  {
    const std::lock_guard lock(mutex);
    isOver = true;
  }
  news.notify_all();
  thread.join();
}

Status FileAppender::open(const std::filesystem::path& path, Mode mode) {
  std::ofstream file(path,
                     mode == Mode::append ? std::ios::app : std::ios::trunc);
  if (!file)
    return cannotWrite(path);
  const std::lock_guard lock(mutex);
  pending[path].opened = std::move(file);
  return Status::ok();
}

Status FileAppender::append(const std::filesystem::path& path,
                            std::string_view bytes) {
  {
    const std::lock_guard lock(mutex);
    RECIPERUN_TRY(failure);
    pending[path].bytes.append(bytes);
  }
  news.notify_all();
  return Status::ok();
}

Status FileAppender::wait() {
  std::unique_lock lock(mutex);
  news.notify_all(); // of files that were opened
  news.wait(lock,
            [&] { return !failure.isOk() || (pending.empty() && !isWriting); });
  return failure;
}

void FileAppender::work() {
  std::unique_lock lock(mutex);
  while (failure.isOk()) {
    news.wait(lock, [&] { return isOver || !pending.empty(); });
    if (pending.empty())
      return;
    Pieces pieces = std::exchange(pending, {});
    isWriting = true;
    lock.unlock();
    Status written = write(std::move(pieces));
    lock.lock();
    isWriting = false;
    failure = std::move(written);
    news.notify_all();
  }
}

Status FileAppender::write(Pieces pieces) {
  for (auto& [path, piece] : pieces) {
    if (piece.opened.is_open())
      files[path] = std::move(piece.opened);
    else if (!files.contains(path)) {
      if (files.size() >= mostOpenFiles)
        files.clear();
      std::error_code ignored; // opening the file fails then
      std::filesystem::create_directories(path.parent_path(), ignored);
      files[path].open(path, std::ios::app);
    }
    std::ofstream& file = files[path];
    file << piece.bytes << std::flush;
    if (!file)
      return cannotWrite(path);
  }
  return Status::ok();
}

} // namespace reciperun::train
