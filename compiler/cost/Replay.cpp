// 1. A kernel starts when the previous one has ended. While transfers overlap
//    it, it runs at a reduced speed.
// 2. A transfer that overlaps kernels starts when the previous ones on its
//    stream have ended.
// 3. At the done op of a transfer, kernels wait for its end.

#include "compiler/cost/Replay.h"

#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace recipec::cost {
namespace {

using ir::OpKind;

/// The fraction of their speed that kernels lose while a transfer on the stream
/// overlaps them, on an H200 (docs/performance.md). Copy engines take memory
/// bandwidth: copying 32 MiB takes some 110 us and makes a matmul 17 us longer.
/// NCCL's kernels take multiprocessors: a matmul takes 753 us instead of 615.
double slowdown(Stream stream) {
  switch (stream) {
  case Stream::links:
    return 0.15;
  case Stream::network:
    return 0.18;
  case Stream::kernels:
  case Stream::host:
    return 0;
  }
  return 0;
}

/// A transfer that overlaps kernels.
struct Underway {
  ir::ValueId value = ir::ValueId::none; // the result in flight
  double begin = 0;
  double end = 0;
  size_t interval = 0; // index of its interval, if intervals are kept
};

class Replay {
public:
  Replay(const ir::Module& program, const Machine& machine,
         const Kernels& kernels, const Collectives& collectives, double clock,
         bool keepsIntervals)
      : program(program), machine(machine), kernels(kernels),
        collectives(collectives), clock(clock), keepsIntervals(keepsIntervals) {
  }

  FunctionRun run(const ir::Function& function) {
    for (const ir::Op& op : function.ops)
      take(op);
    result.seconds = now;
    return std::move(result);
  }

private:
  void take(const ir::Op& op) {
    const ops::Traits& traits = ops::traitsOf(op.kind);
    if (op.kind == OpKind::CopyBegin)
      start(op, Stream::host,
            double(ir::localBytes(program, op.results[0])) / machine.host);
    else if (op.kind == OpKind::CopyEnd)
      result.copies += waitFor(op.results[0]);
    else if (traits.isCollective && traits.starts)
      start(op, streamOf(op), collectives.seconds(op));
    else if (traits.isCollective && traits.finishes)
      finish(op);
    else if (traits.isCollective)
      communicate(op);
    else
      compute(op);
  }

  Stream streamOf(const ir::Op& op) const {
    return collectives.isFar(op) ? Stream::network : Stream::links;
  }

  double endOf(Stream stream) const {
    const std::vector<Underway>& queue = queues[size_t(stream)];
    return queue.empty() ? 0 : queue.back().end;
  }

  void start(const ir::Op& op, Stream stream, double seconds) {
    const double begin = std::max(endOf(stream), now);
    queues[size_t(stream)].push_back(
        {op.results[0], begin, begin + seconds, record(op, stream, 0, 0)});
    place(queues[size_t(stream)].back());
  }

  /// Records the times of a transfer.
  void place(const Underway& transfer) {
    arrivals[transfer.value] = transfer.end;
    if (keepsIntervals) {
      result.intervals[transfer.interval].begin = transfer.begin;
      result.intervals[transfer.interval].end = transfer.end;
    }
  }

  /// Makes kernels wait until the value has arrived. Returns the seconds
  /// waited.
  double waitFor(ir::ValueId value) {
    const double waited = std::max(0.0, arrivals.at(value) - now);
    now += waited;
    return waited;
  }

  void finish(const ir::Op& op) {
    result.exposed[nameOf(op)] += waitFor(op.operands[0]);
    if (op.kind == OpKind::ReduceScatterDone)
      compute(op); // a kernel adds up the terms
  }

  /// Runs a collective that kernels wait for. It takes the bandwidth of the
  /// transfers on the same level that overlap it, which end later.
  void communicate(const ir::Op& op) {
    const double seconds = collectives.seconds(op);
    if (seconds == 0)
      return;
    std::vector<Underway>& queue = queues[size_t(streamOf(op))];
    for (size_t i = queue.size(); i-- > 0 && queue[i].end > now;) {
      queue[i].begin += queue[i].begin > now ? seconds : 0;
      queue[i].end += seconds;
      place(queue[i]);
    }
    record(op, Stream::kernels, now, now + seconds);
    now += seconds;
    result.exposed[nameOf(op)] += seconds;
  }

  void compute(const ir::Op& op) {
    const KernelCost cost = kernels.costOf(op);
    const double begin = now;
    double left = cost.seconds(clock);
    // Each iteration lasts until an overlapping transfer or the kernel ends.
    while (left > 0) {
      double speed = 1, next = -1;
      for (Stream stream : {Stream::links, Stream::network, Stream::host})
        if (const double end = endOf(stream); end > now) {
          speed -= slowdown(stream);
          next = next < 0 ? end : std::min(next, end);
        }
      if (next < 0 || (next - now) * speed >= left) {
        now += left / speed;
        break;
      }
      left -= (next - now) * speed;
      now = next;
    }
    result.energy += cost.energy;
    result.busy[ops::infoOf(op.kind).family] += now - begin;
    result.work[cost.work] += now - begin;
    if (now > begin)
      record(op, Stream::kernels, begin, now);
  }

  /// Adds an interval, if intervals are kept. Returns its index.
  size_t record(const ir::Op& op, Stream stream, double begin, double end) {
    if (keepsIntervals)
      result.intervals.push_back({&op, stream, begin, end});
    return result.intervals.size() - 1;
  }

  std::string nameOf(const ir::Op& op) const {
    return (op.kind == OpKind::AllToAll || op.kind == OpKind::AllToAllDone) &&
                   kernels.hasExpertRows(op.operands[0])
               ? "ep"
               : degreesOf(op.group);
  }

  /// The names of the degrees that the axes belong to, `dp+cp`. An axis is
  /// named after its degree, or `dp.1` if the degree has several axes.
  std::string degreesOf(ir::AxisSet axes) const {
    std::string names, last;
    for (size_t i = 0; i < program.axes.size(); ++i) {
      const ir::Axis& axis = program.axes[i];
      const std::string name = axis.name.substr(0, axis.name.find('.'));
      if (!axes.contains(ir::AxisId(i)) || axis.size == 1 || name == last)
        continue;
      names += (names.empty() ? "" : "+") + name;
      last = name;
    }
    return names;
  }

  const ir::Module& program;
  const Machine& machine;
  const Kernels& kernels;
  const Collectives& collectives;
  double clock;
  bool keepsIntervals;
  double now = 0;
  std::array<std::vector<Underway>, 4> queues; // by stream, in order
  std::map<ir::ValueId, double> arrivals;
  FunctionRun result;
};

} // namespace

double FunctionRun::communication() const {
  return std::accumulate(
      exposed.begin(), exposed.end(), 0.0,
      [](double sum, const auto& each) { return sum + each.second; });
}

FunctionRun replay(const ir::Module& program, const ir::Function& function,
                   const Machine& machine, const Kernels& kernels,
                   const Collectives& collectives, double clock,
                   bool keepsIntervals) {
  return Replay(program, machine, kernels, collectives, clock, keepsIntervals)
      .run(function);
}

} // namespace recipec::cost
