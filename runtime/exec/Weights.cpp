// First values of parameters, and their copies in the optimizer's precision.

#include "runtime/exec/Weights.h"

#include "runtime/device/BFloat16.h"
#include "runtime/kernels/Initialize.h"
#include "runtime/plan/Parts.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace reciperun::exec {
namespace {

/// From the rank's part of the values to its masters.
void fillMaster(const Tensor& values, const Tensor& master) {
  if (master.type == plan::DType::u16) { // nothing has been rounded away
    std::memset(master.data, 0, size_t(master.bytes()));
    return;
  }
  if (values.type != master.type) {
    assert(values.type == plan::DType::bf16 && "only bf16 has a wider master");
    const auto* narrow = values.as<device::bf16>();
    std::transform(narrow, narrow + values.elements(), master.as<float>(),
                   [](device::bf16 value) { return float(value); });
    return;
  }
  if (values.data != master.data)
    std::memcpy(master.data, values.data, size_t(master.bytes()));
}

/// The rank's part of a region that no rank has whole.
void initializePart(const plan::Plan& plan, const plan::Region& region,
                    const Tensor& part, int rank, int threads) {
  for (size_t i = 0; i < region.parameters.size(); ++i) {
    const plan::Run run =
        plan::runInPart(region, i, plan.parameters, plan.mesh, rank);
    if (run.count == 0)
      continue;
    const int64_t shape[] = {run.count};
    std::byte* first =
        part.as<std::byte>() + run.element * plan::byteSize(part.type);
    kernels::initialize(plan.parameters[size_t(region.parameters[i])],
                        plan.train.seed, plan.mesh, rank, run.first,
                        {first, part.type, shape}, threads);
  }
}

} // namespace

void initializeParameters(const plan::Plan& plan, const Executor& executor,
                          int rank, int threads) {
  for (const plan::Parameter& parameter : plan.parameters)
    if (parameter.value >= 0)
      kernels::initialize(parameter, plan.train.seed, plan.mesh, rank, 0,
                          executor.tensor(parameter.value), threads);
  for (const plan::Region& region : plan.regions)
    if (region.param < 0)
      initializePart(plan, region, executor.tensor(region.part), rank, threads);
}

void fillMasters(const plan::Plan& plan, const Executor& executor) {
  for (const plan::Region& region : plan.regions)
    fillMaster(executor.tensor(region.part), executor.tensor(region.master));
}

} // namespace reciperun::exec
