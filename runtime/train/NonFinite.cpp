// The search looks for an op that reads finite values and writes non-finite
// ones; later ops only propagate them. A collective may transport values of
// another rank, so it is reported only when no rank has a local op that
// produced them.

#include "runtime/train/NonFinite.h"

#include "runtime/checkpoint/StateShards.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/HostCopy.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace reciperun::train {
namespace {

template <class T> bool allFinite(const exec::Tensor& tensor) {
  const T* values = tensor.as<T>();
  return std::all_of(values, values + tensor.elements(),
                     [](T value) { return std::isfinite(float(value)); });
}

/// Whether all elements of a tensor that the host can address are finite.
/// Integers always are.
bool isFiniteHere(const exec::Tensor& tensor) {
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

bool isFloat(plan::DType type) {
  return type == plan::DType::f64 || type == plan::DType::f32 ||
         type == plan::DType::bf16;
}

/// Whether all elements of a tensor are finite. An absent tensor is finite.
Expected<bool> isFinite(device::Device& device, const exec::Tensor& tensor) {
  bool finite = true;
  if (isFloat(tensor.type))
    RECIPERUN_TRY(device::readPieces(device, tensor,
                                     [&](const exec::Tensor& piece, int64_t) {
                                       finite = finite && isFiniteHere(piece);
                                       return Status::ok();
                                     }));
  return finite;
}

bool isOfModel(const plan::Function& function) {
  const std::string_view name = function.name;
  return name.starts_with("forward") || name.starts_with("backward");
}

} // namespace

Status NonFiniteSearch::clearResults(const exec::Executor& executor) const {
  for (const plan::Function& function : stage.functions)
    if (isOfModel(function))
      for (const plan::Op& op : function.ops)
        for (int number : op.outputs)
          RECIPERUN_TRY(clear(executor, number));
  return Status::ok();
}

Status NonFiniteSearch::clear(const exec::Executor& executor,
                              int number) const {
  if (number < 0)
    return Status::ok();
  for (int copy = 0; copy < plan::copies(stage, number); ++copy) {
    const exec::Tensor result = executor.tensor(number, copy);
    RECIPERUN_TRY(device.clear(result.data, result.bytes()));
  }
  return Status::ok();
}

/// A tensor that cannot be read counts as finite; `status` reports the failure
/// at the end.
bool NonFiniteSearch::areFinite(std::span<const exec::Tensor> tensors) {
  for (const exec::Tensor& tensor : tensors) {
    Expected<bool> finite = isFinite(device, tensor);
    if (!finite)
      failure = finite.status();
    if (finite && !*finite)
      return false;
  }
  return true;
}

Expected<std::string>
NonFiniteSearch::badParameter(const exec::Executor& executor) const {
  for (const checkpoint::StateShard& part :
       checkpoint::valueParts(plan, rank)) {
    exec::Tensor kept = executor.tensor(part.count > 0 ? part.buffer : -1);
    const int64_t shape[] = {part.count};
    if (kept.present())
      kept = {kept.as<std::byte>() + part.element * plan::byteSize(kept.type),
              kept.type, shape};
    Expected<bool> finite = isFinite(device, kept);
    RECIPERUN_TRY(finite);
    if (!*finite)
      return plan.parameters[size_t(part.parameter)].name;
  }
  return std::string();
}

std::string NonFiniteSearch::text(const Origin& origin) const {
  return "`" + origin.op->name + "` (" + ops::opName(origin.op->kind) +
         ") of `" + stage.functions[size_t(origin.step.function)].name + "`";
}

void NonFiniteSearch::beginsOp(const plan::Op&,
                               std::span<const exec::Tensor> inputs,
                               std::span<const exec::Tensor> outputs) {
  wasFinite = areFinite(inputs) && areFinite(outputs);
}

void NonFiniteSearch::endsOp(const plan::Op& op,
                             std::span<const exec::Tensor> outputs) {
  Origin& origin =
      ops::traitsOf(op.kind).isCollective ? commonOrigin : ownOrigin;
  if (!origin.op && wasFinite && !areFinite(outputs))
    origin = {&op, current};
}

} // namespace reciperun::train
