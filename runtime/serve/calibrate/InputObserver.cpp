// 1. At the start, find the inputs: the buffers that linear ops multiply by a
//    parameter. Ops that read the same buffer share an input. Each bucket of
//    the plan is a function with its own buffers, but all functions share the
//    parameters. Also find the norms whose results only these ops read.
// 2. Before an op, measure its input if it is the first op that reads it. The
//    rows of tokens come first, and padding follows. The last layers compute
//    only the rows whose logits are wanted.

#include "runtime/serve/calibrate/InputObserver.h"

#include "runtime/ops/NormOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/serve/calibrate/ReadRows.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

namespace reciperun::serve {
namespace {

bool isLinear(const plan::Op& op) {
  return op.kind == plan::OpKind::Linear ||
         op.kind == plan::OpKind::QuantizedLinear;
}

bool isNorm(const plan::Op& op) {
  return op.kind == plan::OpKind::RmsNorm || op.kind == plan::OpKind::LayerNorm;
}

/// The input channels of a stored matrix [n,k].
int64_t channelsOf(const plan::Buffer& matrix) {
  return matrix.shape.back() * (matrix.dtype == plan::DType::u8 ? 2 : 1);
}

} // namespace

InputObserver::InputObserver(const plan::Plan& plan, device::Device& device)
    : plan(plan), device(device), inputOf(plan.parameters.size(), -1),
      experts(plan, device) {
  assert(plan.serving && plan.stages.size() == 1 && "a plan of one rank");
  const plan::Stage& stage = plan.stages.front();
  parameterOf.assign(stage.buffers.size(), -1);
  for (const plan::Holding& holding : stage.holdings)
    if (holding.value >= 0)
      parameterOf[size_t(holding.value)] = holding.parameter;
  for (const plan::Function& function : stage.functions)
    findInputs(function);
  findNorms(stage.functions.back());
}

int InputObserver::parameterRead(const plan::Op& op, size_t operand) const {
  return operand < op.inputs.size() && op.inputs[operand] >= 0
             ? parameterOf[size_t(op.inputs[operand])]
             : -1;
}

/// The parameter that a linear op multiplies by; -1 for other ops.
int InputObserver::matrixOf(const plan::Op& op) const {
  return isLinear(op) ? parameterRead(op, 1) : -1;
}

void InputObserver::findInputs(const plan::Function& function) {
  std::map<int, int> known; // inputs by buffer
  for (const plan::Op& op : function.ops) {
    const int parameter = matrixOf(op);
    if (parameter < 0)
      continue;
    int& own = inputOf[size_t(parameter)];
    const auto found = known.find(op.inputs[0]);
    if (own < 0 && found != known.end())
      own = found->second;
    if (own < 0) {
      own = int(inputs.size());
      leaders.push_back(parameter);
      inputs.emplace_back(
          channelsOf(plan.stages.front().buffers[size_t(op.inputs[1])]));
    }
    known.emplace(op.inputs[0], own);
  }
}

/// Finds the norm that produces each input. All functions of a plan have the
/// same ops.
void InputObserver::findNorms(const plan::Function& function) {
  std::map<int, int> reads;    // by buffer, of all ops
  std::map<int, int> products; // by buffer, of linear ops
  for (const plan::Op& op : function.ops) {
    for (int buffer : op.inputs)
      ++reads[buffer];
    if (matrixOf(op) >= 0)
      ++products[op.inputs[0]];
  }
  norms.resize(inputs.size());
  for (const plan::Op& op : function.ops) {
    const int weight = isNorm(op) ? parameterRead(op, 1) : -1;
    if (weight < 0 || products[op.outputs[0]] == 0 ||
        products[op.outputs[0]] != reads[op.outputs[0]] ||
        reads[op.inputs[1]] != 1)
      continue;
    const auto reader =
        std::ranges::find_if(function.ops, [&](const plan::Op& other) {
          return matrixOf(other) >= 0 && other.inputs[0] == op.outputs[0];
        });
    norms[size_t(inputOf[size_t(matrixOf(*reader))])] = {
        plan.parameters[size_t(weight)].hfName,
        ops::RmsNormAttributes(op.attributes).centered};
  }
}

void InputObserver::startStep(const StepPlan& step) {
  bucketTokens = plan.serving->buckets[size_t(step.bucket)].tokens;
  tokens = step.tokens;
  rows = step.rows;
}

void InputObserver::beginsOp(const plan::Op& op,
                             std::span<const device::Tensor> read,
                             std::span<const device::Tensor>) {
  if (!failure.isOk())
    return;
  const int parameter = matrixOf(op);
  if (parameter < 0) {
    failure =
        experts.measure(op, read).withContext("the input of `" + op.name + "`");
    return;
  }
  const size_t input = size_t(inputOf[size_t(parameter)]);
  if (leaders[input] == parameter)
    failure =
        measure(read[0], input).withContext("the input of `" + op.name + "`");
}

Status InputObserver::measure(const device::Tensor& x, size_t input) {
  quantize::ActivationStatistics& statistics = inputs[input];
  const int64_t channels = int64_t(statistics.mean.size());
  const int64_t all = x.elements() / channels;
  RECIPERUN_TRY(readRows(device, x, channels, /*first=*/0,
                         all == bucketTokens ? tokens : rows, values));
  statistics.add(values);
  return Status::ok();
}

checkpoint::InputStatistics InputObserver::take() {
  checkpoint::InputStatistics taken;
  for (size_t i = 0; i < inputOf.size(); ++i) {
    const plan::Parameter& parameter = plan.parameters[i];
    if (inputOf[i] >= 0 && inputs[size_t(inputOf[i])].tokens > 0)
      taken.inputOf.emplace(parameter.hfName, size_t(inputOf[i]));
  }
  taken.inputs = std::move(inputs);
  taken.norms = std::move(norms);
  experts.addTo(taken);
  return taken;
}

} // namespace reciperun::serve
