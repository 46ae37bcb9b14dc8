// 1. Return the copy if it is there. Its name is a hash of address, ETag and
//    size, so that an object of other contents has another copy.
// 2. Lock `NAME.partial`. Another process that held the lock may have renamed
//    it: then begin anew.
// 3. Copy the object piece by piece, compare its checksum if the store has one,
//    flush the file, rename it to `NAME`.

#include "runtime/storage/LocalCopies.h"

#include "runtime/base/Crc32c.h"
#include "runtime/base/Hash.h"
#include "runtime/base/StopSignal.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

constexpr int64_t pieceBytes = int64_t(64) << 20;
constexpr const char* wayOut =
    "; `XDG_CACHE_HOME` names another folder for copies of objects";
constexpr std::chrono::milliseconds nap(50);

/// A file that is written under a lock, and closed at the end.
class LockedFile {
public:
  explicit LockedFile(fs::path path) : path(std::move(path)) {}
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  ~LockedFile() { close(); }

  /// Opens the file and waits for its lock.
  Status open() {
    descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0)
      return failure();
    while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR)
        return failure();
      RECIPERUN_TRY(checkStopSignal());
      std::this_thread::sleep_for(nap);
    }
    return Status::ok();
  }

  /// Whether the open file still has its name.
  bool isCurrent() const {
    struct stat own = {}, named = {};
    return fstat(descriptor, &own) == 0 && stat(path.c_str(), &named) == 0 &&
           own.st_ino == named.st_ino && own.st_dev == named.st_dev;
  }

  Status write(int64_t at, std::span<const std::byte> data) {
    while (!data.empty()) {
      const ssize_t put = pwrite(descriptor, data.data(), data.size(), at);
      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return failure();
      at += put;
      data = data.subspan(size_t(put));
    }
    return Status::ok();
  }

  Status renameTo(const fs::path& target) {
    const bool isDone =
        fsync(descriptor) == 0 && rename(path.c_str(), target.c_str()) == 0;
    return isDone ? Status::ok() : failure();
  }

  void close() {
    if (descriptor >= 0)
      ::close(std::exchange(descriptor, -1));
  }

private:
  Status failure() const {
    return Status::error("cannot write `" + path.string() +
                         "`: " + std::strerror(errno) + wayOut);
  }

  fs::path path;
  int descriptor = -1;
};

Status copyTo(LockedFile& file, ObjectStore& store, const Object& object) {
  std::vector<std::byte> piece(size_t(std::min(pieceBytes, object.bytes)));
  uint32_t checksum = 0;
  for (int64_t at = 0; at < object.bytes; at += int64_t(piece.size())) {
    RECIPERUN_TRY(checkStopSignal());
    piece.resize(size_t(std::min(pieceBytes, object.bytes - at)));
    RECIPERUN_TRY(store.read(object, at, piece));
    RECIPERUN_TRY(file.write(at, piece));
    checksum = crc32c(piece, checksum);
  }
  if (object.crc32c.value_or(checksum) != checksum)
    return Status::error("its bytes do not have the CRC32C `" +
                         crc32cText(*object.crc32c) +
                         "` of the store; run it again");
  return Status::ok();
}

bool isWhole(const fs::path& copy, const Object& object) {
  std::error_code code;
  const uintmax_t bytes = fs::file_size(copy, code);
  return !code && bytes == uintmax_t(object.bytes);
}

Status makeCopy(const fs::path& copy, ObjectStore& store,
                const Object& object) {
  std::error_code code;
  fs::create_directories(copy.parent_path(), code);
  if (code)
    return Status::error("cannot make `" + copy.parent_path().string() +
                         "`: " + code.message() + wayOut);
  fs::path partial = copy;
  partial += ".partial";
  while (!isWhole(copy, object)) {
    LockedFile file(partial);
    RECIPERUN_TRY(file.open());
    if (!file.isCurrent())
      continue;
    RECIPERUN_TRY(copyTo(file, store, object));
    return file.renameTo(copy);
  }
  return Status::ok();
}

} // namespace

Expected<fs::path> LocalCopies::of(const std::string& address,
                                   ObjectStore& store, const Object& object) {
  const fs::path copy = folder / hashOf(address + "\n" + object.etag + "\n" +
                                        std::to_string(object.bytes))
                                     .text();
  RECIPERUN_TRY(makeCopy(copy, store, object)
                    .withContext("the copy of `" + address + "`"));
  return copy;
}

} // namespace reciperun::storage
