// Idle threads: `sleep` lets them yield the core, `spin` keeps it busy. Run by
// waiting_threads.test.

#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/Threads.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

namespace {

double processorSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

} // namespace

int main(int, char** arguments) {
  using namespace reciperun;
  if (Status status = device::letWaitingThreadsSleep(arguments);
      !status.isOk()) {
    std::printf("%s\n", status.message().c_str());
    return 1;
  }
  constexpr int loops = 15;
  constexpr auto pause = std::chrono::milliseconds(20);
  const double before = processorSeconds();
  for (int i = 0; i < loops; ++i) {
    device::parallelFor(2, 2, 1, [](int64_t, int64_t) {});
    std::this_thread::sleep_for(pause);
  }
  const double spent = processorSeconds() - before;
  const double paused = std::chrono::duration<double>(loops * pause).count();
  std::printf("%s\n", spent < paused / 10 ? "sleep" : "spin");
  return 0;
}
