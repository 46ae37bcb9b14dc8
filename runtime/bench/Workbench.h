// Runs single ops on tensors of random numbers and measures their time.

#ifndef RECIPERUN_BENCH_WORKBENCH_H
#define RECIPERUN_BENCH_WORKBENCH_H

#include "runtime/device/Device.h"

#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace reciperun::bench {

/// How long one op takes, in seconds.
struct Timing {
  /// Of the fastest batch: the device is cool.
  double fastest = 0;
  /// The median of the later half of the batches: the clock has settled.
  double sustained = 0;
};

/// An op and the tensors it runs on.
struct Trial {
  plan::Op op;
  std::vector<device::Tensor> inputs;
  std::vector<device::Tensor> outputs;
  device::Tensor workspace = {};
};

class Workbench {
public:
  /// Each op is repeated for `seconds`.
  Workbench(device::Device& device, double seconds)
      : device(device), seconds(seconds) {}

  /// A tensor of normally distributed values; of types of one byte, random
  /// finite ones. How much power a matmul takes depends on its values.
  Expected<device::Tensor> noise(plan::DType type, std::vector<int64_t> shape);
  /// A tensor of zeros.
  Expected<device::Tensor> zeros(plan::DType type, std::vector<int64_t> shape);
  Expected<device::Tensor> integers(const std::vector<int32_t>& values,
                                    std::vector<int64_t> shape);
  /// Frees all tensors.
  void clear() { held.clear(); }

  /// Fails when the device has no kernel for the op.
  Expected<Timing> time(const Trial& trial);

private:
  struct Held {
    std::vector<int64_t> shape;
    memory::Arena arena;
  };

  Expected<double> batch(const device::OpCall& call, int64_t runs);

  device::Device& device;
  double seconds;
  std::deque<Held> held; // tensors refer to the shapes
  std::mt19937 generator{1};
  plan::Mesh mesh;
};

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_WORKBENCH_H
