// Writes a trace of some steps in the format of Chrome's about:tracing and
// Perfetto: steps, functions and ops, and below them the device's activities
// (Device::endProfile).
//
// While a step is traced, its ops are launched one by one between marks, not as
// parts of a graph.

#ifndef RECIPERUN_TRAIN_TRACE_H
#define RECIPERUN_TRAIN_TRACE_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Observer.h"
#include "runtime/plan/Plan.h"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace reciperun::train {

/// The value of `--profile START:END:RANKS`.
struct ProfileRange {
  int64_t first = 0; // steps, from 1; 0: profile none
  int64_t last = 0;
  std::vector<int> ranks; // empty: all

  /// Parses `10:12:0,3`, `10:12:all` or `10:12`, which means rank 0.
  static Expected<ProfileRange> parse(const std::string& text);
  bool takes(int rank) const;
};

class Trace : public exec::Observer {
public:
  /// The arguments must outlive the object. Steps are forwarded to `inner`.
  Trace(const plan::Stage& stage, device::Device& device,
        exec::Observer& inner);

  /// Begins the trace on an idle device. Returns a note when the device cannot
  /// report its activities; otherwise empty.
  std::string begin();
  /// Begins a step. The device must be idle and have no marks.
  void startStep(int64_t number);
  /// Reads the times of the step. The device must be idle.
  void takeStep();
  /// Ends the trace and writes the file of a rank.
  Status write(const std::filesystem::path& path, int rank);

  void beginsStep(const plan::ScheduleStep& step) override;
  void endsStep(const plan::ScheduleStep& step) override;
  void endsOp(const plan::Op& op,
              std::span<const device::Tensor> outputs) override;

private:
  using Clock = std::chrono::steady_clock;

  enum Lane { steps, functions, ops, streams };
  /// The activity between two marks.
  struct Span {
    Lane lane;
    std::string name;
    std::string kind; // of an op
    int begin = 0;
    int end = 0;
  };
  /// An activity; its times are in seconds since the beginning of the trace.
  struct Event {
    int lane = 0;
    std::string name;
    std::string detail;
    double begin = 0;
    double end = 0;
  };

  std::string nameOf(const plan::ScheduleStep& step) const;

  const plan::Stage& stage;
  device::Device& device;
  exec::Observer& inner;
  Clock::time_point begun;
  double stepBegin = 0; // seconds since then
  std::vector<Span> spans;
  std::vector<Event> events;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_TRACE_H
