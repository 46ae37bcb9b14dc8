// causal_conv of a serving step's tokens. The inputs before a sequence's first
// token of the step are in its state.
//
// For each run of tokens of a sequence and each tile of channels:
//   1. copy the sequence's last k - 1 inputs into a buffer, or zeros if the run
//      starts at position 0;
//   2. y_t = sum over i < k of w[k-1-i] x_{t-i}, in the order of causal_conv;
//   3. store the last k - 1 inputs.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/StepRuns.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;

constexpr int64_t stepTileChannels = 64;

template <class T> class ConvStep {
  using M = Math<T>;

public:
  ConvStep(const KernelArgs& args, const std::vector<StepRun>& runs)
      : args(args), runs(runs), tokens(args.inputs[0].shape[1]),
        channels(args.inputs[0].shape[2] * args.inputs[0].shape[3]),
        taps(args.inputs[1].shape.back()), x(args.inputs[0].as<T>()),
        w(args.inputs[1].as<T>()), y(args.outputs[0].as<T>()),
        inputs(args.outputs[1].as<T>()) {}

  void run() {
    forPadding(runs, tokens, [&](int64_t begin, int64_t end) {
      std::fill(y + begin * channels, y + end * channels, T());
    });
    const int64_t tiles = (channels + stepTileChannels - 1) / stepTileChannels;
    const int threads =
        device::threadsFor(args.context.threads(), tokens * channels * taps);
    device::parallelItems(threads, int64_t(runs.size()) * tiles,
                          [&](int64_t item, int thread) {
                            tile(runs[size_t(item / tiles)],
                                 item % tiles * stepTileChannels, thread);
                          });
  }

private:
  /// A thread's buffers, [taps - 1, stepTileChannels] the oldest input first,
  /// and [taps, stepTileChannels] by distance.
  struct Room {
    M *before, *weights;
  };

  void tile(const StepRun& run, int64_t first, int thread) {
    const int64_t width = std::min(stepTileChannels, channels - first);
    M* const scratch = args.context.template scratch<M>(
        thread, size_t((2 * taps - 1) * stepTileChannels));
    const Room room{scratch, scratch + (taps - 1) * stepTileChannels};
    T* const kept = inputs + (run.sequence * channels + first) * (taps - 1);
    for (int64_t j = 0; j < width; ++j) {
      for (int64_t i = 0; i < taps; ++i)
        room.weights[i * stepTileChannels + j] =
            M(w[(first + j) * taps + taps - 1 - i]);
      for (int64_t i = 0; i + 1 < taps; ++i)
        room.before[i * stepTileChannels + j] =
            run.position == 0 ? M(0) : M(kept[j * (taps - 1) + i]);
    }
    for (int64_t i = 0; i < run.count; ++i)
      convolve(run, i, first, width, room);
    keep(run, first, width, room, kept);
  }

  /// Token i of the run.
  void convolve(const StepRun& run, int64_t i, int64_t first, int64_t width,
                const Room& room) const {
    const int64_t reach = std::min(taps - 1, run.position + i);
    M sum[stepTileChannels] = {};
    for (int64_t back = 0; back <= reach; ++back) {
      const M* weight = room.weights + back * stepTileChannels;
      if (back > i) {
        addProducts(width, weight,
                    room.before + (taps - 1 + i - back) * stepTileChannels,
                    sum);
        continue;
      }
      addProducts(width, weight, x + (run.begin + i - back) * channels + first,
                  sum);
    }
    T* out = y + (run.begin + i) * channels + first;
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      out[j] = T(sum[j]);
  }

  template <class E>
  static void addProducts(int64_t width, const M* weight, const E* row,
                          M* sum) {
#pragma omp simd
    for (int64_t j = 0; j < width; ++j)
      sum[j] += weight[j] * M(row[j]);
  }

  /// Stores the run's last inputs, and earlier ones if the run is shorter.
  void keep(const StepRun& run, int64_t first, int64_t width, const Room& room,
            T* kept) const {
    for (int64_t i = 0; i + 1 < taps; ++i) {
      const int64_t token = run.count - (taps - 1) + i;
      for (int64_t j = 0; j < width; ++j)
        kept[j * (taps - 1) + i] =
            token < 0 ? T(room.before[(i + run.count) * stepTileChannels + j])
                      : x[(run.begin + token) * channels + first + j];
    }
  }

  const KernelArgs& args;
  const std::vector<StepRun>& runs;
  const int64_t tokens, channels, taps;
  const T *const x, *const w;
  T *const y, *const inputs;
};

} // namespace

Status causalConvStepKernel(const KernelArgs& args) {
  const auto runs =
      stepRuns(args.inputs[2], args.inputs[3], args.outputs[1].shape[0]);
  if (!runs)
    return runs.status().withContext("op `" + args.op.name + "`");
  return withType(args, args.inputs[0].type,
                  [&]<class T>(Type<T>) { ConvStep<T>(args, *runs).run(); });
}

} // namespace reciperun::kernels
