// See Threads.h.

#include "runtime/device/cpu/Threads.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace reciperun::device {
namespace {

/// The number of spins of a GCC OpenMP thread before it sleeps. At 140 cycles a
/// spin this is 50 microseconds, about the time to wake a thread up.
constexpr const char* looks = "1000";

/// The variables of the OpenMP standard and of GCC's library.
constexpr const char* waitPolicy = "OMP_WAIT_POLICY";
constexpr const char* spinCount = "GOMP_SPINCOUNT";

/// When the program is started as an argument of the dynamic linker,
/// /proc/self/exe is the linker.
bool isOwnProgram() {
  return getauxval(AT_BASE) != 0;
}

/// The first number of a list such as `4,2`.
Expected<int> parseThreads(std::string_view text) {
  int threads = 0;
  const char* end = text.data() + text.size();
  auto [rest, code] = std::from_chars(text.data(), end, threads);
  if (code == std::errc() && threads >= 1 && (rest == end || *rest == ','))
    return threads;
  return Status::error("`OMP_NUM_THREADS` is `" + std::string(text) +
                       "`, and a number of threads is 1 or above");
}

/// Checks that the system grants `threads` threads, the calling one included.
Status checkThreads(int threads) {
  std::promise<void> all;
  const std::shared_future<void> areThere = all.get_future().share();
  std::vector<std::jthread> started;
  Status status;
  try {
    started.reserve(size_t(threads));
    while (int(started.size()) + 1 < threads)
      started.emplace_back([areThere] { areThere.wait(); });
  } catch (const std::exception& failure) {
    status = Status::error("cannot start thread " +
                           std::to_string(started.size() + 2) + " of " +
                           std::to_string(threads) + ": " + failure.what() +
                           "; set `OMP_NUM_THREADS` to fewer, or raise the "
                           "limit of processes (`ulimit -u`) or memory "
                           "(`ulimit -v`)");
  }
  all.set_value();
  return status;
}

} // namespace

Status letWaitingThreadsSleep(char** arguments) {
  if (getenv(waitPolicy) || getenv(spinCount) || !isOwnProgram())
    return Status::ok();
  setenv(waitPolicy, "passive", /*overwrite=*/0);
  setenv(spinCount, looks, /*overwrite=*/0);
  execv("/proc/self/exe", arguments);
  return Status::error(std::string("threads that wait keep cores busy: cannot "
                                   "start `/proc/self/exe` with "
                                   "`OMP_WAIT_POLICY=passive`: ") +
                       std::strerror(errno));
}

cpu_set_t coreMask() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) != 0 || CPU_COUNT(&mask) == 0)
    CPU_SET(0, &mask);
  return mask;
}

Expected<int> threadsOfProcess(int sharing) {
  const char* wanted = getenv("OMP_NUM_THREADS");
  if (wanted && *wanted)
    return parseThreads(wanted);
  const cpu_set_t mask = coreMask();
  return std::max(1, CPU_COUNT(&mask) / std::max(1, sharing));
}

Status startThreads(int threads) {
  RECIPERUN_TRY(checkThreads(threads));
#pragma omp parallel num_threads(threads)
  {
    // Also makes the C library create the thread's heap now.
    void* volatile taken = std::malloc(1);
    std::free(taken);
  }
  return Status::ok();
}

} // namespace reciperun::device
