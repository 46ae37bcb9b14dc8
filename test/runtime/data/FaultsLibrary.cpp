// Preloaded (LD_PRELOAD) by shell tests: a disk that fails and memory that does
// not suffice.
//
//   READ_FAULT=NAME:OFFSET:ERROR  reads of files whose path ends in NAME fail
//                                 from byte OFFSET on with the number ERROR
//   READ_MOST=BYTES               a read gives no more than so many bytes
//   ALLOCATION_FAULT=BYTES        allocations of BYTES to BYTES + 64 fail

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

/// The errno of a read at an offset, 0 for success.
int faultAt(int descriptor, off_t offset) {
  const char* fault = std::getenv("READ_FAULT");
  char name[256], link[64], path[4096];
  long from = 0;
  int error = 0;
  if (!fault || std::sscanf(fault, "%255[^:]:%ld:%d", name, &from, &error) != 3)
    return 0;
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, sizeof path);
  const bool isMeant =
      length > 0 && std::string_view(path, size_t(length)).ends_with(name);
  return isMeant && offset >= from ? error : 0;
}

size_t given(size_t wanted) {
  const char* most = std::getenv("READ_MOST");
  return most ? std::min(wanted, size_t(std::atol(most))) : wanted;
}

} // namespace

extern "C" ssize_t pread(int descriptor, void* out, size_t count,
                         off_t offset) {
  if (const int error = faultAt(descriptor, offset)) {
    errno = error;
    return -1;
  }
  return syscall(SYS_pread64, descriptor, out, given(count), offset);
}

extern "C" ssize_t pread64(int descriptor, void* out, size_t count,
                           off_t offset) {
  return pread(descriptor, out, count, offset);
}

extern "C" ssize_t read(int descriptor, void* out, size_t count) {
  const off_t offset = lseek(descriptor, 0, SEEK_CUR);
  if (const int error = offset < 0 ? 0 : faultAt(descriptor, offset)) {
    errno = error;
    return -1;
  }
  return syscall(SYS_read, descriptor, out, count);
}

extern "C" void* malloc(size_t bytes) noexcept {
  static const auto real =
      reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_NEXT, "malloc"));
  static const char* fault = std::getenv("ALLOCATION_FAULT");
  const size_t from = fault ? size_t(std::atol(fault)) : SIZE_MAX - 64;
  if (bytes >= from && bytes <= from + 64) {
    errno = ENOMEM;
    return nullptr;
  }
  return real(bytes);
}
