// See FolderLock.h. If the file system does not support fcntl(2) locks,
// flock(2) is tried. If it supports neither, a note says so.

#include "runtime/checkpoint/FolderLock.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// A killed process frees its memory before its locks.
constexpr std::chrono::milliseconds patience(1000), nap(50);
constexpr size_t longestText = 400;

enum class Outcome { taken, held, impossible };

Outcome tryLock(int descriptor) {
  struct flock whole = {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0)
    return Outcome::taken;
  if (errno == EAGAIN || errno == EACCES)
    return Outcome::held;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    return Outcome::taken;
  return errno == EWOULDBLOCK ? Outcome::held : Outcome::impossible;
}

Outcome lockSoon(int descriptor) {
  const auto end = std::chrono::steady_clock::now() + patience;
  Outcome outcome = tryLock(descriptor);
  while (outcome == Outcome::held && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(nap);
    outcome = tryLock(descriptor);
  }
  return outcome;
}

/// The text that identifies this process: `process 1234 on host node-7 since
/// 2026-02-03 14:05:06 UTC`.
std::string holderText() {
  char host[256] = "unknown", when[64] = "";
  gethostname(host, sizeof host - 1);
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  std::strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return "process " + std::to_string(getpid()) + " on host " + host +
         " since " + when;
}

Status writeHolder(int descriptor, const fs::path& file) {
  const std::string text = holderText() + "\n";
  const bool isWritten =
      ftruncate(descriptor, 0) == 0 &&
      pwrite(descriptor, text.data(), text.size(), 0) == ssize_t(text.size()) &&
      fsync(descriptor) == 0; // other hosts read it
  return isWritten ? Status::ok() : systemError("write", file, errno);
}

/// The holder named in the file, whose contents are not trusted.
std::string readHolder(int descriptor) {
  char text[longestText];
  const ssize_t got = pread(descriptor, text, sizeof text, 0);
  std::string holder(text, size_t(std::max<ssize_t>(got, 0)));
  holder.resize(std::min(holder.find('\n'), holder.size()));
  const bool isReadable = std::all_of(holder.begin(), holder.end(), [](char c) {
    return c >= ' ' && c <= '~';
  });
  return isReadable && !holder.empty() ? holder : "another process";
}

} // namespace

fs::path runLockFile(const fs::path& run) {
  return run / ".lock";
}

fs::path checkpointsLockFile(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder / "").parent_path();
  return whole.parent_path() / ("." + whole.filename().string() + ".lock");
}

Expected<FolderLock> FolderLock::take(const fs::path& file,
                                      const std::string& inUse) {
  FolderLock lock;
  // O_NONBLOCK, so that opening a FIFO does not wait.
  lock.descriptor = Descriptor(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
  const int descriptor = lock.descriptor.get();
  if (!lock.descriptor.isOpen())
    return systemError("open", file, errno);
  struct stat facts = {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode))
    return Status::error("cannot lock `" + file.string() +
                         "`: not a regular file");
  switch (lockSoon(descriptor)) {
  case Outcome::held:
    return Status::error(
        inUse + " is in use by another job: " + readHolder(descriptor) +
        " holds `" + file.string() + "`");
  case Outcome::impossible:
    lock.complaint = systemError("lock", file, errno).message() +
                     "; no second job may be started there";
    break;
  case Outcome::taken:
    break;
  }
  RECIPERUN_TRY(writeHolder(descriptor, file));
  return lock;
}

} // namespace reciperun::checkpoint
