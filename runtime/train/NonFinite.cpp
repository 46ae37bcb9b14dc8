// The op that is looked for reads finite values and writes others: what reads
// those is a consequence. Collectives bring what other ranks have made, and are
// none.

#include "runtime/train/NonFinite.h"

#include "runtime/device/BFloat16.h"
#include "runtime/kernels/Kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace reciperun::train {
namespace {

template <class T> bool allFinite(const exec::Tensor& tensor) {
  const T* values = tensor.as<T>();
  return std::all_of(values, values + tensor.elements(),
                     [](T value) { return std::isfinite(float(value)); });
}

/// Integers always are.
bool isFinite(const exec::Tensor& tensor) {
  if (!tensor.present())
    return true;
  switch (tensor.type) {
  case plan::DType::f64: {
    const double* values = tensor.as<double>();
    return std::all_of(values, values + tensor.elements(),
                       [](double value) { return std::isfinite(value); });
  }
  case plan::DType::f32:
    return allFinite<float>(tensor);
  case plan::DType::bf16:
    return allFinite<device::bf16>(tensor);
  default:
    return true;
  }
}

bool areFinite(std::span<const exec::Tensor> tensors) {
  return std::all_of(tensors.begin(), tensors.end(), isFinite);
}

bool isOfModel(const plan::Function& function) {
  const std::string_view name = function.name;
  return name.starts_with("forward") || name.starts_with("backward");
}

} // namespace

void NonFiniteSearch::clearResults(const exec::Executor& executor) const {
  for (const plan::Function& function : plan.functions) {
    if (!isOfModel(function))
      continue;
    for (const plan::Op& op : function.ops) {
      if (kernels::isCollective(op.kind))
        continue;
      for (int number : op.outputs)
        for (int slot = 0;
             number >= 0 && slot < plan.buffers[size_t(number)].slots; ++slot) {
          const exec::Tensor result = executor.tensor(number, slot);
          std::memset(result.data, 0, size_t(result.bytes()));
        }
    }
  }
}

std::string
NonFiniteSearch::badParameter(const exec::Executor& executor) const {
  for (const plan::Holding& holding : plan.holdings)
    if (!isFinite(executor.tensor(holding.value)))
      return plan.parameters[size_t(holding.parameter)].name;
  return {};
}

std::string NonFiniteSearch::opText() const {
  return "`" + found->name + "` (" + plan::opName(found->kind) + ") of `" +
         plan.functions[size_t(where.function)].name + "`";
}

void NonFiniteSearch::beginsOp(const plan::Op& op,
                               std::span<const exec::Tensor> inputs) {
  if (!found)
    hadFiniteInputs = !kernels::isCollective(op.kind) && areFinite(inputs);
}

void NonFiniteSearch::endsOp(const plan::Op& op,
                             std::span<const exec::Tensor> outputs) {
  if (found || !hadFiniteInputs || areFinite(outputs))
    return;
  found = &op;
  where = current;
}

} // namespace reciperun::train
