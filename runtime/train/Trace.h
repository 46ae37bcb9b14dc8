// A trace of some steps, in the format that Chrome's about:tracing and Perfetto
// read: steps, functions and ops, and below them what the device says that it
// did (Device::endProfile).
//
// While it follows a step, ops are given to the device one by one, each between
// marks: none is launched as a part of a graph.

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

/// Of `--profile START:END:RANKS`.
struct ProfileRange {
  int64_t first = 0; // steps, from 1; 0: none is profiled
  int64_t last = 0;
  std::vector<int> ranks; // empty: all

  /// `10:12:0,3`, `10:12:all` or `10:12`, which is of rank 0.
  static Expected<ProfileRange> parse(const std::string& text);
  bool takes(int rank) const;
};

class Trace : public exec::Observer {
public:
  /// The arguments outlive the object; `inner` is told all that this is.
  Trace(const plan::Stage& stage, device::Device& device,
        exec::Observer& inner);

  /// Begins with an idle device. What comes back is a note: that it cannot say
  /// what it does, and why. Empty where it can.
  std::string begin();
  /// A step begins, of an idle device that has forgotten its marks.
  void startStep(int64_t number);
  /// What the step has given the device is done.
  void takeStep();
  /// Ends it, and writes the file of a rank.
  Status write(const std::filesystem::path& path, int rank);

  void beginsStep(const plan::ScheduleStep& step) override;
  void endsStep(const plan::ScheduleStep& step) override;
  void endsOp(const plan::Op& op,
              std::span<const device::Tensor> outputs) override;

private:
  using Clock = std::chrono::steady_clock;

  enum Lane { steps, functions, ops, streams };
  /// What went on between two marks.
  struct Span {
    Lane lane;
    std::string name;
    std::string kind; // of an op
    int begin = 0;
    int end = 0;
  };
  /// Seconds since the beginning.
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
