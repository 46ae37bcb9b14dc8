// See Workbench.h.

#include "runtime/bench/Workbench.h"

#include "runtime/bench/WaitForDevice.h"
#include "runtime/device/BFloat16.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace reciperun::bench {
namespace {

/// A batch is long enough that the host's calls do not matter, and short enough
/// that the first one ends before the clock falls.
constexpr double batchSeconds = 0.02;

/// Values are drawn for this many elements and repeated.
constexpr int64_t drawnElements = int64_t(1) << 20;

/// Random bits that are finite numbers in f8e4m3 and in i8.
constexpr unsigned finiteByte = 0xbf;

std::vector<std::byte> draw(plan::DType type, int64_t count,
                            std::mt19937& generator) {
  std::vector<std::byte> bytes(size_t(count * plan::byteSize(type)));
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < count; ++i)
    if (type == plan::DType::bf16)
      reinterpret_cast<device::bf16*>(bytes.data())[i] =
          device::bf16(normal(generator));
    else if (type == plan::DType::f32)
      reinterpret_cast<float*>(bytes.data())[i] = normal(generator);
    else
      bytes[size_t(i)] = std::byte(generator() & finiteByte);
  return bytes;
}

} // namespace

Expected<device::Tensor> Workbench::zeros(plan::DType type,
                                          std::vector<int64_t> shape) {
  Held& made = held.emplace_back(Held{std::move(shape), {}});
  device::Tensor tensor;
  tensor.type = type;
  tensor.shape = made.shape;
  auto arena = device.allocate(tensor.bytes(), /*hostBytes=*/0);
  RECIPERUN_TRY(arena);
  made.arena = *std::move(arena);
  tensor.data = made.arena.base();
  return tensor;
}

Expected<device::Tensor> Workbench::noise(plan::DType type,
                                          std::vector<int64_t> shape) {
  auto tensor = zeros(type, std::move(shape));
  RECIPERUN_TRY(tensor);
  const int64_t all = tensor->elements();
  const auto drawn = draw(type, std::min(all, drawnElements), generator);
  const int64_t bytes = tensor->bytes();
  for (int64_t done = 0; done < bytes; done += int64_t(drawn.size())) {
    const auto part = size_t(std::min(bytes - done, int64_t(drawn.size())));
    RECIPERUN_TRY(device.upload(tensor->as<std::byte>() + done,
                                std::span(drawn).first(part)));
  }
  return tensor;
}

Expected<device::Tensor> Workbench::integers(const std::vector<int32_t>& values,
                                             std::vector<int64_t> shape) {
  auto tensor = zeros(plan::DType::i32, std::move(shape));
  RECIPERUN_TRY(tensor);
  RECIPERUN_TRY(device.upload(tensor->data, std::as_bytes(std::span(values))));
  return tensor;
}

/// The seconds of one of `runs` runs.
Expected<double> Workbench::batch(const device::OpCall& call, int64_t runs) {
  const int begin = device.mark();
  for (int64_t i = 0; i < runs; ++i)
    RECIPERUN_TRY(device.run(call));
  const int end = device.mark();
  RECIPERUN_TRY(waitUntilIdle(device));
  const double time = device.seconds(begin, end) / double(runs);
  device.forgetMarks();
  return time;
}

Expected<Timing> Workbench::time(const Trial& trial) {
  const std::string name = ops::opName(trial.op.kind);
  if (!device.hasKernel(trial.op.kind))
    return Status::error(device.name() + " has no kernel for `" + name + "`");
  const device::OpCall call{trial.op,        trial.inputs, trial.outputs,
                            trial.workspace, mesh,         /*rank=*/0};
  const auto prepared = device.prepare({&call, 1}, {});
  if (!prepared)
    return prepared.status().withContext(name);
  // The first run loads the kernel.
  for (int i = 0; i < 2; ++i)
    if (const auto warm = batch(call, 1); !warm)
      return warm.status().withContext(name);
  const auto once = batch(call, 1);
  RECIPERUN_TRY(once);
  const auto runs = int64_t(std::ceil(batchSeconds / std::max(*once, 1e-7)));
  std::vector<double> times;
  for (double spent = 0; spent < seconds || times.empty();
       spent += times.back() * double(runs)) {
    const auto time = batch(call, runs);
    RECIPERUN_TRY(time);
    times.push_back(*time);
  }
  Timing timing;
  timing.fastest = *std::min_element(times.begin(), times.end());
  const auto later = times.begin() + std::ptrdiff_t(times.size() / 2);
  const auto median = later + (times.end() - later) / 2;
  std::nth_element(later, median, times.end());
  timing.sustained = *median;
  return timing;
}

} // namespace reciperun::bench
