// A signal handler on the thread stores the addresses of its callers; the other
// thread finds their names.

#include "runtime/comm/StackTrace.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <semaphore.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string_view>

namespace reciperun::comm {
namespace {

constexpr int mostFrames = 64;
/// The handler itself, and the kernel's call of it.
constexpr int framesOfHandler = 2;

void* frames[mostFrames];
int frameCount = 0;
sem_t areStored;

int signalOfTrace() {
  return SIGRTMAX - 1;
}

extern "C" void storeFrames(int) {
  const int before = errno;
  frameCount = backtrace(frames, mostFrames);
  sem_post(&areStored);
  errno = before;
}

/// `reciperun::exec::run(...)`, without its parameters.
std::string nameOfFunction(const char* symbol) {
  int failure = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &failure), &std::free);
  return failure == 0 ? readable.get() : symbol;
}

std::string textOfFrame(void* address) {
  Dl_info found = {};
  if (!dladdr(address, &found) || !found.dli_fname)
    return "?";
  if (found.dli_sname)
    return nameOfFunction(found.dli_sname);
  const std::string_view file = found.dli_fname;
  const auto offset = static_cast<const char*>(address) -
                      static_cast<const char*>(found.dli_fbase);
  char text[32];
  std::snprintf(text, sizeof text, "+0x%llx", (unsigned long long)(offset));
  return std::string(file.substr(file.rfind('/') + 1)) + text;
}

} // namespace

StackTrace::StackTrace() : thread(pthread_self()) {
  // The first call loads a library, which a handler must not.
  backtrace(frames, mostFrames);
  sem_init(&areStored, 0, 0);
  struct sigaction action = {};
  action.sa_handler = storeFrames;
  action.sa_flags = SA_RESTART;
  sigaction(signalOfTrace(), &action, nullptr);
}

StackTrace::~StackTrace() {
  std::signal(signalOfTrace(), SIG_IGN);
}

std::vector<std::string> StackTrace::read() const {
  if (pthread_kill(thread, signalOfTrace()) != 0)
    return {};
  timespec until = {};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  if (sem_timedwait(&areStored, &until) != 0)
    return {};
  std::vector<std::string> texts;
  for (int i = framesOfHandler; i < frameCount; ++i)
    texts.push_back(textOfFrame(frames[i]));
  return texts;
}

} // namespace reciperun::comm
