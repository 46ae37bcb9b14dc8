// Ends a run when the cloud is going to take its host away: as SIGUSR1 does,
// after the step in progress and with a checkpoint.

#ifndef RECIPERUN_TRAIN_SPOT_SPOTWATCH_H
#define RECIPERUN_TRAIN_SPOT_SPOTWATCH_H

#include "runtime/base/Status.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace reciperun::train {

class NoticeSource;

class SpotWatch {
public:
  /// Asks the metadata service of `cloud` (see openNoticeSource) for a notice
  /// about this host, and then again and again on a thread. Fails when there is
  /// a notice or no answer. `host` is the host's name.
  static Expected<std::unique_ptr<SpotWatch>> open(const std::string& cloud,
                                                   const std::string& host);
  SpotWatch(const SpotWatch&) = delete;
  SpotWatch& operator=(const SpotWatch&) = delete;
  ~SpotWatch();

  /// `host node7 is taken away: terminate at 2026-01-31T12:00:00Z (aws)`; empty
  /// without a notice. With one, SIGUSR1 was sent to this process.
  std::string notice() const;

private:
  SpotWatch(std::unique_ptr<NoticeSource> source, std::string cloud,
            std::string host);
  bool poll();
  void work();

  const std::unique_ptr<NoticeSource> source; // of the thread once it runs
  const std::string cloud, host;
  Status failure; // of the last poll; of the thread, too
  mutable std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::string found; // the notice
  std::thread thread;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SPOT_SPOTWATCH_H
