// See Watch.h.

#include "runtime/comm/Watch.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace reciperun::comm {

std::string textOf(const Awaited& awaited) {
  std::string text(awaited.what);
  if (!awaited.op.empty())
    text.append(" for op `").append(awaited.op).append("`");
  if (!awaited.who.empty())
    text.append(" by ").append(awaited.who);
  return text;
}

std::string stateOfProcess(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  if (!std::getline(file, text))
    return "has ended";
  // The name before the state may hold anything, also parentheses.
  const size_t at = text.rfind(')');
  if (at == text.npos || at + 2 >= text.size())
    return {};
  switch (text[at + 2]) {
  case 'T':
  case 't':
    return "is stopped";
  case 'Z':
  case 'X':
    return "has ended";
  case 'D':
    return "waits for a device";
  default:
    return {};
  }
}

Expected<std::optional<Watch::Duration>> Watch::limitOfEnvironment() {
  const char* const given = std::getenv("RECIPERUN_COMM_TIMEOUT");
  if (!given)
    return std::optional<Duration>();
  constexpr int most = 1'000'000; // some days
  const std::string_view text = given;
  int seconds = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 1 ||
      seconds > most)
    return Status::error("`RECIPERUN_COMM_TIMEOUT` is `" + std::string(text) +
                         "`: it takes seconds, 1 to " + std::to_string(most));
  return std::optional<Duration>(std::chrono::seconds(seconds));
}

Watch::Watch(int rank, std::optional<Duration> limit, Duration pause)
    : rank(rank), limit(limit), pause(pause),
      thread(threadWithoutSignals([this] { watch(); })) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex);
    isStopping = true;
  }
  stopped.notify_one();
  thread.join();
}

Watch::Wait::Wait(Watch* watch, const Awaited& awaited, Duration bound)
    : watch(watch) {
  if (!watch)
    return;
  const std::lock_guard lock(watch->mutex);
  watch->waits.push_back({awaited, bound});
  watch->hasHostMoved = true;
}

Watch::Wait::~Wait() {
  if (!watch)
    return;
  const std::lock_guard lock(watch->mutex);
  watch->waits.pop_back();
  watch->hasHostMoved = true;
}

Watch::Pace::Pace(Watch* watch, std::optional<Duration> bound) : watch(watch) {
  if (!watch)
    return;
  const std::lock_guard lock(watch->mutex);
  watch->pace = bound;
}

Watch::Pace::~Pace() {
  if (!watch)
    return;
  const std::lock_guard lock(watch->mutex);
  watch->pace.reset();
}

void Watch::know(std::vector<HostRank> others) {
  const std::lock_guard lock(mutex);
  neighbours = std::move(others);
}

void Watch::add(Lookout& lookout) {
  const std::lock_guard lock(mutex);
  lookouts.push_back(&lookout);
}

void Watch::remove(Lookout& lookout) {
  const std::lock_guard lock(mutex);
  std::erase(lookouts, &lookout);
}

void Watch::watch() {
  Duration waited = {};
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, pause, [this] { return isStopping; })) {
    // Counts pauses instead of clock time: the whole job may be suspended and
    // resumed.
    waited += pause;
    const bool isMoving = hasMoved();
    const std::string what = awaited();
    if (isMoving || what.empty())
      waited = {};
    if (waited > presentLimit())
      endJob(what);
  }
}

/// Asks all lookouts, since each reports progress since its last call.
bool Watch::hasMoved() {
  bool moved = std::exchange(hasHostMoved, false);
  for (Lookout* lookout : lookouts)
    moved |= lookout->hasMoved();
  return moved;
}

/// Reports a device's wait before the host's: while a device waits, the host
/// either waits for the device or has continued with other work.
std::string Watch::awaited() const {
  for (Lookout* lookout : lookouts)
    if (std::string what = lookout->awaited(); !what.empty())
      return what;
  return waits.empty() ? "" : textOf(waits.back().awaited);
}

Watch::Duration Watch::presentLimit() const {
  if (limit)
    return *limit;
  Duration least = pace.value_or(std::chrono::minutes(10));
  for (const Waiting& wait : waits)
    least = std::min(least, wait.bound);
  return least;
}

/// This rank's own failure; empty when there is none.
std::string_view Watch::failure() const {
  const auto found = std::ranges::find_if(
      waits, [](const Waiting& wait) { return !wait.awaited.failure.empty(); });
  return found == waits.end() ? std::string_view() : found->awaited.failure;
}

/// What helps to find the rank that hangs, and why.
void Watch::printCircumstances() const {
  for (const HostRank& each : neighbours)
    if (const std::string state = stateOfProcess(each.process); !state.empty())
      std::fprintf(stderr,
                   "rank %d: note: rank %d, process %d of this host, %s\n",
                   rank, each.rank, each.process, state.c_str());
  const std::vector<std::string> functions = stack.read();
  if (functions.empty())
    return;
  std::string text = "rank " + std::to_string(rank) + ": note: its stack is\n";
  for (const std::string& function : functions)
    text += "rank " + std::to_string(rank) + ":   " + function + "\n";
  std::fputs(text.c_str(), stderr);
}

void Watch::endJob(const std::string& what) const {
  const auto limit =
      std::chrono::duration_cast<std::chrono::seconds>(presentLimit());
  const std::string seconds = std::to_string(limit.count());
  std::string text(failure());
  const bool isWaiting = text.empty();
  if (isWaiting)
    text = "has waited for " + seconds + " s for " + what +
           "; a rank of them hangs or is far behind: its own messages say "
           "more, or set `RECIPERUN_COMM_TIMEOUT` to more seconds";
  else
    text +=
        " (the other ranks have not come to hear of it in " + seconds + " s)";
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", rank, text.c_str());
  if (isWaiting) {
    printCircumstances();
    // The end of this process ends the others, which may be about to report.
    std::this_thread::sleep_for(4 * pause);
  }
  std::fflush(stderr);
  std::_Exit(isWaiting ? exitUnresponsive : 1);
}

} // namespace reciperun::comm
