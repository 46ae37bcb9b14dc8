// The op that is looked for reads finite values and writes others: what reads
// those is a consequence. A collective may bring what another rank has made, so
// that it is to blame only where no rank has an op that computes such values.

#include "runtime/train/NonFinite.h"

#include "runtime/checkpoint/StateParts.h"
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
  for (const plan::Function& function : plan.functions)
    if (isOfModel(function))
      for (const plan::Op& op : function.ops)
        for (int number : op.outputs)
          clear(executor, number);
}

void NonFiniteSearch::clear(const exec::Executor& executor, int number) const {
  if (number < 0)
    return;
  for (int slot = 0; slot < plan.buffers[size_t(number)].slots; ++slot) {
    const exec::Tensor result = executor.tensor(number, slot);
    std::memset(result.data, 0, size_t(result.bytes()));
  }
}

std::string NonFiniteSearch::badParameter(const exec::Executor& executor,
                                          int rank) const {
  for (const checkpoint::StatePart& part : checkpoint::valueParts(plan, rank)) {
    exec::Tensor kept = executor.tensor(part.count > 0 ? part.buffer : -1);
    const int64_t shape[] = {part.count};
    if (kept.present())
      kept = {kept.as<std::byte>() + part.element * plan::byteSize(kept.type),
              kept.type, shape};
    if (!isFinite(kept))
      return plan.parameters[size_t(part.parameter)].name;
  }
  return {};
}

std::string NonFiniteSearch::text(const Origin& origin) const {
  return "`" + origin.op->name + "` (" + plan::opName(origin.op->kind) +
         ") of `" + plan.functions[size_t(origin.step.function)].name + "`";
}

void NonFiniteSearch::beginsOp(const plan::Op&,
                               std::span<const exec::Tensor> inputs,
                               std::span<const exec::Tensor> outputs) {
  wasFinite = areFinite(inputs) && areFinite(outputs);
}

void NonFiniteSearch::endsOp(const plan::Op& op,
                             std::span<const exec::Tensor> outputs) {
  Origin& origin = kernels::isCollective(op.kind) ? commonOrigin : ownOrigin;
  if (!origin.op && wasFinite && !areFinite(outputs))
    origin = {&op, current};
}

} // namespace reciperun::train
