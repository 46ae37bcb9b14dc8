// Reads the peak memory from /proc.

#include "runtime/train/Host.h"

#include "runtime/base/Text.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace reciperun::train {

Status checkMemoryBudget(int64_t bytes) {
  void* room = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return Status::error("no memory for libraries: the system does not grant "
                         "the " +
                         bytesText(bytes) +
                         " that they take beside the plan's arena (" +
                         std::strerror(errno) +
                         "); see `ulimit -v` and the memory that is free");
  munmap(room, size_t(bytes));
  return Status::ok();
}

void releaseFreeMemory() {
  malloc_trim(0);
}

void raiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t peakBytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string key;
    int64_t kibibytes = 0;
    if (fields >> key >> kibibytes && key == "VmHWM:")
      return kibibytes * 1024;
  }
  return 0;
}

} // namespace reciperun::train
