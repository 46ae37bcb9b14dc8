// Initial values of parameters, and their copies in the optimizer's precision.

#include "runtime/exec/Weights.h"

#include "runtime/device/HostCopy.h"
#include "runtime/kernels/data_movement/Initialize.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/RegionShards.h"
#include "runtime/quantize/RowStream.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace reciperun::exec {
namespace {

/// Elements of a quantized parameter that are drawn at once.
constexpr int64_t drawnAtOnce = int64_t(1) << 20;

/// A flat view of a tensor's elements from `first` on.
Tensor runOf(const Tensor& tensor, int64_t first,
             std::span<const int64_t> shape) {
  return {tensor.as<std::byte>() + first * plan::byteSize(tensor.type),
          tensor.type, shape};
}

/// Widens the rank's shard of the values into its master weights.
Status fillMaster(const plan::Plan& plan, device::Device& device,
                  const Tensor& values, const Tensor& master, int rank) {
  if (master.type == plan::DType::u16) // no bits have been rounded off yet
    return device.clear(master.data, master.bytes());
  if (values.data == master.data)
    return Status::ok();
  const plan::Op widen{plan::OpKind::Cast, "master", {}, {}, -1, -1, {}};
  return device.run(
      {widen, {&values, 1}, {&master, 1}, Tensor(), plan.mesh, rank});
}

/// Draws initial values into the buffers of one rank, on its device or else on
/// the host.
class Draw {
public:
  Draw(const plan::Plan& plan, const Executor& executor, int rank, int threads)
      : plan(plan), executor(executor), rank(rank), threads(threads) {}

  /// Initializes a parameter that the rank stores in full.
  Status whole(const plan::Holding& holding) {
    return draw(plan.parameters[size_t(holding.parameter)], 0,
                executor.tensor(holding.value));
  }

  /// Initializes a quantized parameter.
  Status quantized(const plan::Holding& holding) {
    const plan::Parameter& parameter =
        plan.parameters[size_t(holding.parameter)];
    const Tensor data = executor.tensor(holding.value),
                 scales = executor.tensor(holding.scale);
    const quantize::Scheme scheme = quantize::schemeOf(
        parameter.quantization->format, parameter.quantization->scales);
    const int64_t all = plan::blockElements(parameter, plan.mesh);
    const int64_t columns = all / data.shape[0];
    quantize::RowStream stream(
        scheme, data.shape[0], columns, threads,
        [&](const quantize::QuantizedRun& run) {
          RECIPERUN_TRY(executor.device().upload(
              data.as<std::byte>() + run.firstByte, std::as_bytes(run.data)));
          return executor.device().upload(scales.as<float>() + run.firstScale,
                                          std::as_bytes(run.scales));
        });
    RECIPERUN_TRY(clearInputScales(executor.tensor(holding.inScale)));
    std::vector<float> values(size_t(std::min(all, drawnAtOnce)));
    for (int64_t first = 0; first < all; first += drawnAtOnce) {
      const int64_t shape[] = {std::min(drawnAtOnce, all - first)};
      kernels::initialize(parameter, plan.train.seed, plan.mesh, rank, first,
                          {values.data(), plan::DType::f32, shape}, threads);
      RECIPERUN_TRY(stream.append(std::span(values).first(size_t(shape[0]))));
    }
    return Status::ok();
  }

  /// Initializes the rank's shard of a region that no rank stores in full.
  Status part(const plan::Region& region) {
    const Tensor kept = executor.tensor(region.part);
    for (size_t i = 0; i < region.parameters.size(); ++i) {
      const plan::Run run =
          plan::runInShard(region, i, plan.parameters, plan.mesh, rank);
      const int64_t shape[] = {run.count};
      if (run.count > 0)
        RECIPERUN_TRY(draw(plan.parameters[size_t(region.parameters[i])],
                           run.first, runOf(kept, run.element, shape)));
    }
    return Status::ok();
  }

private:
  /// Sets the factors of a matrix's inputs, if it has any, to 1.
  Status clearInputScales(const Tensor& factors) {
    if (!factors.present())
      return Status::ok();
    const std::vector<float> ones(size_t(factors.elements()), 1.0f);
    return executor.device().upload(factors.data,
                                    std::as_bytes(std::span(ones)));
  }

  /// Draws elements of the rank's shard of a parameter, from `first` on.
  Status draw(const plan::Parameter& parameter, int64_t first,
              const Tensor& values) {
    Expected<bool> isDrawn = executor.device().draw(
        {parameter, plan.train.seed, plan.mesh, rank, first, values});
    RECIPERUN_TRY(isDrawn);
    if (*isDrawn)
      return Status::ok();
    return device::writePieces(
        executor.device(), values, [&](const Tensor& piece, int64_t before) {
          kernels::initialize(parameter, plan.train.seed, plan.mesh, rank,
                              first + before, piece, threads);
          return Status::ok();
        });
  }

  const plan::Plan& plan;
  const Executor& executor;
  int rank;
  int threads;
};

} // namespace

Status initializeParameters(const plan::Plan& plan, const Executor& executor,
                            int rank, int threads) {
  Draw draw(plan, executor, rank, threads);
  const plan::Stage& stage = plan::stageOf(plan, rank);
  for (const plan::Holding& holding : stage.holdings)
    if (holding.scale >= 0)
      RECIPERUN_TRY(draw.quantized(holding));
    else if (holding.value >= 0)
      RECIPERUN_TRY(draw.whole(holding));
  for (const plan::Region& region : stage.regions)
    if (region.param < 0)
      RECIPERUN_TRY(draw.part(region));
  return Status::ok();
}

Status fillMasters(const plan::Plan& plan, const Executor& executor, int rank) {
  for (const plan::Region& region : plan::stageOf(plan, rank).regions)
    RECIPERUN_TRY(fillMaster(plan, executor.device(),
                             executor.tensor(region.part),
                             executor.tensor(region.master), rank));
  return Status::ok();
}

} // namespace reciperun::exec
