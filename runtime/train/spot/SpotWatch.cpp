// See SpotWatch.h.

#include "runtime/train/spot/SpotWatch.h"

#include "runtime/comm/ThreadWithoutSignals.h"
#include "runtime/train/spot/NoticeSource.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

namespace reciperun::train {
namespace {

/// Between two polls. The shortest notice is of 30 seconds.
constexpr std::chrono::seconds pollPause(2);

} // namespace

SpotWatch::SpotWatch(std::unique_ptr<NoticeSource> source, std::string cloud,
                     std::string host)
    : source(std::move(source)), cloud(std::move(cloud)),
      host(std::move(host)) {}

Expected<std::unique_ptr<SpotWatch>> SpotWatch::open(const std::string& cloud,
                                                     const std::string& host) {
  Expected<std::unique_ptr<NoticeSource>> source = openNoticeSource(cloud);
  RECIPERUN_TRY(source);
  std::unique_ptr<SpotWatch> made(
      new SpotWatch(*std::move(source), cloud, host));
  if (made->poll())
    return Status::error(made->found + "; start the run on other hosts");
  RECIPERUN_TRY(made->failure);
  made->thread =
      comm::threadWithoutSignals([watch = made.get()] { watch->work(); });
  return made;
}

SpotWatch::~SpotWatch() {
  {
    const std::lock_guard lock(mutex);
    isOver = true;
  }
  ended.notify_all();
  if (thread.joinable())
    thread.join();
}

std::string SpotWatch::notice() const {
  const std::lock_guard lock(mutex);
  return found;
}

/// Returns whether there is a notice.
bool SpotWatch::poll() {
  Expected<std::optional<std::string>> notice = source->poll();
  failure = notice.status();
  if (!notice || !*notice)
    return false;
  {
    const std::lock_guard lock(mutex);
    found = "host " + host + " is taken away: " + **notice + " (" + cloud + ")";
  }
  return true;
}

/// Polls until there is a notice. A service that does not answer is reported
/// once, until it answers again.
void SpotWatch::work() {
  bool isLost = false;
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, pollPause, [&] { return isOver; })) {
    lock.unlock();
    if (poll()) {
      kill(getpid(), SIGUSR1);
      return;
    }
    if (!failure.isOk() && !isLost)
      std::fprintf(stderr,
                   "warning: host %s: no answer about spot notices: %s; it is "
                   "asked again\n",
                   host.c_str(), failure.message().c_str());
    isLost = !failure.isOk();
    lock.lock();
  }
}

} // namespace reciperun::train
