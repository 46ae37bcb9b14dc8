// events.jsonl: what happened in a run beside its steps, one JSON object an
// event, with the time by the system's clock.
//
//   start       the first step follows
//   resume      the step after `step` follows, from the state of `checkpoint`
//   checkpoint  `checkpoint` was saved, in `seconds`
//   spike       the loss of `step` was a spike; `usual` is the median before
//   straggler   `rank` on `host` was slower than the others up to `step`: its
//               work took `ratio` times their median; `message` says more
//   spot_notice the cloud is going to take a host away: `message`
//   end         the run ended after `step`: `reason` is `complete`, `signal`
//               or `failure`, with a `message`
//
// A run that starts at the first step begins the file anew, as it does
// metrics.jsonl; a resumed run appends. A process that was killed leaves no
// `end`.

#ifndef RECIPERUN_TRAIN_METRICS_RUNEVENTS_H
#define RECIPERUN_TRAIN_METRICS_RUNEVENTS_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/LineWriter.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::train {

struct RunEvent {
  std::string kind; // `start`, `resume`, ...
  double time = 0;  // see epochSeconds()
  int64_t step = 0;
  std::string checkpoint = {};        // its path
  std::optional<double> seconds = {}; // of a checkpoint
  std::optional<double> loss = {}, usual = {};
  std::optional<int64_t> rank = {}; // of a straggler
  std::string host = {};
  std::optional<double> ratio = {};
  std::string reason = {}, message = {};
};

/// Parses a line; nullopt when it is not an event.
std::optional<RunEvent> parseRunEvent(std::string_view line);
/// The line of an event, without its end.
std::string textOf(const RunEvent& event);

/// Reads the events of a file, without lines that are none. A file that does
/// not exist has none.
Expected<std::vector<RunEvent>>
readRunEvents(const std::filesystem::path& path);

/// Writes events by a background thread.
class RunEventsFile {
public:
  /// Begins the file anew, or appends to the events that there are.
  static Expected<RunEventsFile> open(const std::filesystem::path& path,
                                      LineWriter::Mode mode);
  /// The events that there were.
  const std::vector<RunEvent>& earlier() const { return before; }
  /// Fails when an earlier event could not be written.
  Status write(const RunEvent& event) { return lines->write(textOf(event)); }
  /// Waits until the file contains all events.
  Status wait() { return lines->wait(); }

private:
  std::vector<RunEvent> before;
  std::unique_ptr<LineWriter> lines;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_RUNEVENTS_H
