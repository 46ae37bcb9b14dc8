// state_scan of a serving step's tokens (StateScan.cpp has the formulas). A
// thread advances a head's states in place, over the tokens of a run.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/StepRuns.h"
#include "runtime/kernels/ssm/StateScan.h"

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

template <class T>
void scanRun(const KernelArgs& args, const ScanInputs<T>& in,
             const StepRun& run, const ScanHead& at, int thread) {
  using M = Math<T>;
  const int64_t size = in.headWidth() * in.state;
  M* const states =
      args.outputs[1].as<M>() +
      ((run.sequence * in.groups + at.group) * in.heads + at.head) * size;
  if (run.position == 0)
    std::fill_n(states, size, M(0));
  HeadScan<T> scan(in, at,
                   args.context.scratch<M>(thread, HeadScan<T>::room(in)));
  for (int64_t token = run.begin; token < run.end(); ++token)
    scan.advance(token, states, args.outputs[0].as<T>());
}

template <class T>
void scanRuns(const KernelArgs& args, const std::vector<StepRun>& runs) {
  const ScanInputs<T> in(args.inputs, 1);
  T* const y = args.outputs[0].as<T>();
  const int64_t row = in.groups * in.channels;
  forPadding(runs, in.tokens, [&](int64_t begin, int64_t end) {
    std::fill(y + begin * row, y + end * row, T());
  });
  const int64_t heads = in.groups * in.heads;
  const int threads =
      device::threadsFor(args.context.threads(), in.tokens * row * in.state);
  device::parallelItems(
      threads, int64_t(runs.size()) * heads, [&](int64_t item, int thread) {
        const int64_t head = item % heads;
        scanRun(args, in, runs[size_t(item / heads)],
                {0, head / in.heads, head % in.heads}, thread);
      });
}

} // namespace

Status stateScanStepKernel(const KernelArgs& args) {
  const auto runs =
      stepRuns(args.inputs[7], args.inputs[8], args.outputs[1].shape[0]);
  if (!runs)
    return runs.status().withContext("op `" + args.op.name + "`");
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { scanRuns<T>(args, *runs); });
}

} // namespace reciperun::kernels
