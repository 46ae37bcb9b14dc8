// 1. At the start, find the inputs: the buffers that `expert_linear` ops
//    multiply by parameters with a tensor for each expert. Follow each buffer
//    back: to `dispatch`, or to the `swiglu` that multiplies the outputs of
//    another matrix.
// 2. Before an op, measure the rows of each expert if the op is the first that
//    reads its input.
// 3. At the end, experts with few tokens get the means of their layer.

#include "runtime/serve/calibrate/ExpertInputs.h"

#include "runtime/kernels/moe/ExpertPieces.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/ExpertNames.h"
#include "runtime/serve/calibrate/ReadRows.h"

#include <algorithm>
#include <map>

namespace reciperun::serve {
namespace {

using quantize::ActivationStatistics;

/// The op that writes a buffer; null when none does.
const plan::Op* writerOf(const plan::Function& function, int buffer) {
  const auto found =
      std::ranges::find_if(function.ops, [&](const plan::Op& op) {
        return std::ranges::find(op.outputs, buffer) != op.outputs.end();
      });
  return found == function.ops.end() ? nullptr : &*found;
}

/// Whether a single op reads a buffer.
bool isReadOnce(const plan::Function& function, int buffer) {
  int64_t readers = 0;
  for (const plan::Op& op : function.ops)
    readers += std::ranges::count(op.inputs, buffer);
  return readers == 1;
}

ActivationStatistics sumOf(const std::vector<ActivationStatistics>& experts) {
  ActivationStatistics all(int64_t(experts.front().mean.size()));
  for (const ActivationStatistics& expert : experts)
    all.add(expert);
  return all;
}

} // namespace

ExpertInputs::ExpertInputs(const plan::Plan& plan, device::Device& device)
    : plan(plan), device(device), inputOf(plan.parameters.size(), -1) {
  const plan::Stage& stage = plan.stages.front();
  parameterOf.assign(stage.buffers.size(), -1);
  for (const plan::Holding& holding : stage.holdings)
    if (holding.value >= 0)
      parameterOf[size_t(holding.value)] = holding.parameter;
  for (const plan::Function& function : stage.functions)
    findInputs(function);
}

/// The parameter with a tensor for each expert that an op multiplies by; -1 for
/// other ops.
int ExpertInputs::matrixOf(const plan::Op& op) const {
  if (op.kind != plan::OpKind::ExpertLinear || op.inputs[1] < 0 ||
      ops::ExpertLinearAttributes(op.attributes).stacked)
    return -1;
  const int parameter = parameterOf[size_t(op.inputs[1])];
  const bool isByExpert =
      parameter >= 0 && plan::isByExpert(plan.parameters[size_t(parameter)]);
  return isByExpert ? parameter : -1;
}

void ExpertInputs::findInputs(const plan::Function& function) {
  std::map<int, int> known; // inputs by buffer
  for (const plan::Op& op : function.ops) {
    const int parameter = matrixOf(op);
    if (parameter < 0)
      continue;
    int& own = inputOf[size_t(parameter)];
    const auto found = known.find(op.inputs[0]);
    if (own < 0 && found != known.end()) {
      own = found->second;
      inputs[size_t(own)].parameters.push_back(parameter);
    }
    if (own < 0) {
      own = int(inputs.size());
      inputs.emplace_back();
      describe(function, op, inputs.back());
    }
    known.emplace(op.inputs[0], own);
  }
}

void ExpertInputs::describe(const plan::Function& function, const plan::Op& op,
                            Input& input) const {
  const std::vector<int64_t>& shape =
      plan.stages.front().buffers[size_t(op.inputs[1])].shape;
  input.parameters = {matrixOf(op)};
  input.experts.assign(size_t(shape.front()),
                       ActivationStatistics(shape.back()));
  const plan::Op* writer = writerOf(function, op.inputs[0]);
  while (writer && writer->kind == plan::OpKind::PackRows)
    writer = writerOf(function, writer->inputs[0]);
  input.isShared = writer && writer->kind == plan::OpKind::Dispatch;
  if (!writer || writer->kind != plan::OpKind::Swiglu ||
      !isReadOnce(function, op.inputs[0]) ||
      !isReadOnce(function, writer->inputs[1]))
    return;
  if (const plan::Op* up = writerOf(function, writer->inputs[1]))
    input.maker = matrixOf(*up);
}

Status ExpertInputs::measure(const plan::Op& op,
                             std::span<const device::Tensor> read) {
  const int parameter = matrixOf(op);
  if (parameter < 0)
    return Status::ok();
  Input& input = inputs[size_t(inputOf[size_t(parameter)])];
  if (input.parameters.front() != parameter)
    return Status::ok();
  std::vector<int32_t> counts(size_t(read[2].elements()));
  RECIPERUN_TRY(
      device.download(std::as_writable_bytes(std::span(counts)), read[2].data));
  const kernels::ExpertPieces pieces(
      read[0], {counts.data(), plan::DType::i32, read[2].shape});
  for (size_t expert = 0; expert < input.experts.size(); ++expert)
    for (int64_t block = 0; block < pieces.blocksOfGroup(); ++block) {
      ActivationStatistics& own = input.experts[expert];
      const auto rows = pieces.runOf(int64_t(expert), block);
      if (rows.count == 0)
        continue;
      RECIPERUN_TRY(readRows(device, read[0], int64_t(own.mean.size()),
                             rows.first, rows.count, values));
      own.add(values);
    }
  return Status::ok();
}

std::string ExpertInputs::tensorOf(int parameter, size_t expert) const {
  std::string name = plan.parameters[size_t(parameter)].hfName;
  return name.replace(name.find(plan::expertPlace), plan::expertPlace.size(),
                      std::to_string(expert));
}

void ExpertInputs::addTo(checkpoint::InputStatistics& taken) const {
  for (const Input& input : inputs) {
    const ActivationStatistics all = sumOf(input.experts);
    if (all.tokens == 0)
      continue;
    if (input.isShared)
      addShared(input, all, taken);
    else
      addOwn(input, all, taken);
  }
}

void ExpertInputs::addShared(const Input& input,
                             const ActivationStatistics& all,
                             checkpoint::InputStatistics& taken) const {
  const size_t number = taken.inputs.size();
  taken.inputs.push_back(all);
  for (size_t expert = 0; expert < input.experts.size(); ++expert) {
    const ActivationStatistics& own = input.experts[expert];
    const bool isSparse = own.tokens < leastTokens;
    ++taken.experts;
    taken.sparseExperts += isSparse;
    for (int parameter : input.parameters) {
      const std::string name = tensorOf(parameter, expert);
      taken.inputOf[name] = number;
      taken.partOf[name] = taken.parts.size();
    }
    taken.parts.push_back(isSparse ? all : own);
    taken.parts.back().tokens = own.tokens;
  }
}

void ExpertInputs::addOwn(const Input& input, const ActivationStatistics& all,
                          checkpoint::InputStatistics& taken) const {
  for (size_t expert = 0; expert < input.experts.size(); ++expert) {
    const ActivationStatistics& own = input.experts[expert];
    const size_t number = taken.inputs.size();
    taken.inputs.push_back(own.tokens < leastTokens ? all : own);
    for (int parameter : input.parameters)
      taken.inputOf[tensorOf(parameter, expert)] = number;
    if (input.maker >= 0)
      taken.makerOf[number] = tensorOf(input.maker, expert);
  }
}

} // namespace reciperun::serve
