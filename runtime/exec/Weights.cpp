// First values of parameters, and their copies in the optimizer's precision.

#include "runtime/exec/Weights.h"

#include "runtime/device/BFloat16.h"
#include "runtime/kernels/Initialize.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace reciperun::exec {
namespace {

void fillMaster(const plan::Region& region, const Tensor& param,
                const Tensor& master, int64_t part) {
  int64_t elements = master.elements();
  auto* values =
      param.as<std::byte>() + part * elements * plan::byteSize(param.type);
  assert((part + 1) * elements <= region.elements && "a part of the region");
  if (param.type == plan::DType::bf16) {
    auto* narrow = reinterpret_cast<const device::bf16*>(values);
    std::transform(narrow, narrow + elements, master.as<float>(),
                   [](device::bf16 value) { return float(value); });
    return;
  }
  assert(param.type == master.type && "only bf16 has a wider master");
  if (values != master.data)
    std::memcpy(master.data, values, size_t(master.bytes()));
}

} // namespace

void initializeParameters(const plan::Plan& plan, const Executor& executor,
                          int rank, int threads) {
  for (const plan::Parameter& parameter : plan.parameters)
    if (parameter.value >= 0)
      kernels::initialize(parameter, plan.train.seed, plan.mesh, rank, 0,
                          executor.tensor(parameter.value), threads);
}

void fillMasters(const plan::Plan& plan, const Executor& executor, int rank) {
  for (const plan::Region& region : plan.regions)
    fillMaster(region, executor.tensor(region.param),
               executor.tensor(region.master),
               plan::coordinate(plan.mesh, rank, region.shardAxis));
}

} // namespace reciperun::exec
