// See LineWriter.h. The thread writes all that is pending at once.

#include "runtime/train/metrics/LineWriter.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace reciperun::train {
namespace {

Status cannotWrite(const std::filesystem::path& path) {
  return Status::error("cannot write `" + path.string() +
                       "`: " + std::strerror(errno));
}

} // namespace

Expected<std::unique_ptr<LineWriter>>
LineWriter::open(const std::filesystem::path& path, Mode mode) {
  std::ofstream file(path,
                     mode == Mode::append ? std::ios::app : std::ios::trunc);
  if (!file)
    return cannotWrite(path);
  return std::unique_ptr<LineWriter>(new LineWriter(path, std::move(file)));
}

LineWriter::LineWriter(const std::filesystem::path& path, std::ofstream file)
    : path(path), file(std::move(file)),
      thread(comm::threadWithoutSignals([this] { work(); })) {}

LineWriter::~LineWriter() {
  {
    const std::lock_guard lock(mutex);
    isOver = true;
  }
  news.notify_all();
  thread.join();
}

Status LineWriter::write(std::string_view line) {
  return append(std::string(line) + '\n');
}

Status LineWriter::append(std::string_view bytes) {
  {
    const std::lock_guard lock(mutex);
    RECIPERUN_TRY(failure);
    pending.append(bytes);
  }
  news.notify_all();
  return Status::ok();
}

Status LineWriter::wait() {
  std::unique_lock lock(mutex);
  news.wait(lock,
            [&] { return !failure.isOk() || (pending.empty() && !isWriting); });
  return failure;
}

void LineWriter::work() {
  std::unique_lock lock(mutex);
  while (failure.isOk()) {
    news.wait(lock, [&] { return isOver || !pending.empty(); });
    if (pending.empty())
      return;
    const std::string piece = std::exchange(pending, {});
    isWriting = true;
    lock.unlock();
    file << piece << std::flush;
    Status written = file ? Status::ok() : cannotWrite(path);
    lock.lock();
    isWriting = false;
    failure = std::move(written);
    news.notify_all();
  }
}

} // namespace reciperun::train
