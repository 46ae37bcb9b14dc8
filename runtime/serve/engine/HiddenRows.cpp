// A step selects the rows whose logits are wanted before its last norm, which
// precedes the matmul to the vocabulary (TokenWiseTail.h of the compiler). The
// norm's result therefore has a row for each row of logits.

#include "runtime/serve/engine/HiddenRows.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/device/HostCopy.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>

namespace reciperun::serve {
namespace {

bool isNorm(const plan::Op& op) {
  return op.kind == plan::OpKind::RmsNorm || op.kind == plan::OpKind::LayerNorm;
}

/// The last norm that a schedule runs; null when it runs none.
const plan::Op* lastNorm(const plan::Stage& stage,
                         const plan::Schedule& schedule) {
  const plan::Op* last = nullptr;
  for (const plan::ScheduleStep& step : schedule.steps)
    if (step.kind == plan::ScheduleStep::Kind::run)
      for (const plan::Op& op : stage.functions[size_t(step.function)].ops)
        last = isNorm(op) ? &op : last;
  return last;
}

} // namespace

HiddenRows::HiddenRows(const plan::Plan& plan) {
  const plan::Stage& stage = plan.stages.back();
  for (size_t i = 0; i < stage.steps.size(); ++i) {
    const plan::Op* norm =
        lastNorm(stage, stage.schedules[size_t(stage.steps[i].schedule)]);
    if (!norm)
      return;
    const std::vector<int64_t>& shape =
        stage.buffers[size_t(norm->outputs[0])].shape;
    const int64_t rows = plan.serving->buckets[i].rows;
    if (shape.size() != 3 || shape[1] != rows)
      return;
    results.push_back(norm->outputs[0]);
    if (results.size() == stage.steps.size())
      channels = shape[2];
  }
}

void HiddenRows::begin(const StepReads& given, device::Device& from) {
  reads = given;
  device = &from;
  values.resize(size_t(reads.rows * channels));
  failure = Status::error("the step has not run the last norm");
}

void HiddenRows::endsOp(const plan::Op& op,
                        std::span<const device::Tensor> outputs) {
  if (!isNorm(op) || op.outputs[0] != results[size_t(reads.bucket)])
    return;
  const device::Tensor& states = outputs[0];
  const auto type =
      checkpoint::findElementType(checkpoint::safetensorsName(states.type));
  assert(type && "activations are of a floating-point type");
  const int64_t shape[] = {reads.rows, channels};
  failure = device::readPieces(
      *device, {states.as<std::byte>(), states.type, shape},
      [&](const device::Tensor& piece, int64_t first) {
        checkpoint::convertElements(
            *type, piece.as<const std::byte>(), plan::DType::f32,
            reinterpret_cast<std::byte*>(values.data() + first),
            piece.elements());
        return Status::ok();
      });
}

std::span<const float> HiddenRows::rowsOf(const RowRange& range) const {
  return std::span(values).subspan(size_t(range.first * channels),
                                   size_t(range.count * channels));
}

} // namespace reciperun::serve
