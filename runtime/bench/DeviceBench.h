// What one device sustains: its matmuls, attention, experts and copies.

#ifndef RECIPERUN_BENCH_DEVICEBENCH_H
#define RECIPERUN_BENCH_DEVICEBENCH_H

#include "runtime/bench/Workbench.h"

#include <functional>
#include <string>
#include <vector>

namespace reciperun::bench {

/// The speed of one op at one size.
struct Measurement {
  std::string op;    // `linear`, as in plans
  std::string type;  // of its operands, `bf16`
  std::string sizes; // `8192 x 6144 x 4096`
  double flops = 0;  // 0: the op is bound by memory
  double bytes = 0;  // read and written
  Timing timing;
};

struct DeviceBenchOptions {
  bool isGpu = false;
  int64_t tokens = 0; // of a matmul; below 1: as many as a training step has
  int64_t copied = 0; // elements of a copy; below 1: more than caches hold
  double seconds = 1; // of each measurement
  /// Only the measurements that hardwareFigures needs.
  bool isShort = false;
  /// Called after each measurement with the number done and of all.
  std::function<void(size_t done, size_t all)> progress = {};
};

/// Measures the ops of a Llama 3 8B, on CPUs of a 1B, at the sizes that layouts
/// give them. Matmuls count 2 m n k FLOPs; attention is causal and counts the
/// matmuls of half of the scores, 2 forward and 4 of the 5 backward. Fails when
/// the device lacks memory, with the op's name.
Expected<std::vector<Measurement>>
benchDevice(device::Device& device, const DeviceBenchOptions& options);

/// A figure of `cluster.hardware` and what it was measured with.
struct HardwareFigure {
  std::string field;
  double value = 0;
  std::string source;
};

/// The figures that the measurements give, of sustained rates.
std::vector<HardwareFigure>
hardwareFigures(const std::vector<Measurement>& measurements, bool isGpu);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_DEVICEBENCH_H
