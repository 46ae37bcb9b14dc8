// Quantizes weights of a Program that serves:
//
// 1. Find the readers of each parameter, over all functions.
// 2. Choose the matrices that only `linear` reads. The logits' and the routers'
//    matrices are recognised by the readers of their results.
// 3. Give a chosen matrix the type of the format, and a parameter for its
//    scales beside it. In int4 two elements of the last dimension share a byte.
// 4. Turn the ops that read it into `quantized_linear`.

#include "compiler/passes/inference/QuantizeWeights.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/inference/MultiplyInFp8.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/WeightScales.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;

using ir::OpKind;
using ir::ValueId;

/// A smaller matrix has too few bytes to matter.
constexpr int64_t leastElements = 1024;

class WeightQuantizer {
public:
  WeightQuantizer(ir::Module& program, const recipe::Recipe& recipe,
                  sizes::WeightFormat format)
      : program(program), names(program), format(format),
        multipliesInFp8(recipe.string("serve.activations") == "fp8"),
        canQuantize(program.values.size(), true),
        rowDims(program.values.size(), -1) {
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        if (op.kind == OpKind::Route)
          exactResults.push_back(op.operands[0]);
    if (!recipe.boolean("serve.quantize_logits"))
      for (const auto& [role, value] : program.bindings)
        exactResults.push_back(value);
  }

  void run() {
    for (const ir::Function& function : program.functions)
      for (const ir::Op& op : function.ops)
        findReaders(op);
    for (ir::Param& param : program.params)
      if (isChosen(param))
        quantize(param);
    for (ir::Function& function : program.functions)
      for (ir::Op& op : function.ops)
        rewrite(op);
  }

private:
  void findReaders(const ir::Op& op) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const ValueId operand = op.operands[i];
      if (operand == ValueId::none)
        continue;
      if (!isMatmulWith(op, i))
        canQuantize[size_t(operand)] = false;
      else
        rowDims[size_t(operand)] = rowsOf(op);
    }
  }

  bool isMatmulWith(const ir::Op& op, size_t operand) const {
    return op.kind == OpKind::Linear && operand == 1 &&
           !ops::LinearAttributes(op.attributes).accumulate &&
           std::find(exactResults.begin(), exactResults.end(), op.results[0]) ==
               exactResults.end();
  }

  /// The number of the weight's dimensions that are outputs.
  int rowsOf(const ir::Op& linear) const {
    const size_t x = program[linear.operands[0]].dims.size(),
                 w = program[linear.operands[1]].dims.size(),
                 y = program[linear.results[0]].dims.size();
    return int(y + w - x) / 2;
  }

  bool isChosen(const ir::Param& param) const {
    const ir::Value& value = program[param.value];
    if (!canQuantize[size_t(param.value)] || rowDims[size_t(param.value)] < 1 ||
        param.adapter || param.gradient != ValueId::none ||
        value.type != program.compute || value.type == ir::DType::f64)
      return false;
    const bool hasPairs = ir::localShape(program, param.value).back() % 2 == 0;
    return ir::localElements(program, param.value) >= leastElements &&
           (format != sizes::WeightFormat::int4 || hasPairs);
  }

  void quantize(ir::Param& param) {
    const int rows = rowDims[size_t(param.value)];
    const auto [n, k] = sizesOf(param.value, rows);
    const sizes::WeightScales scales = scalesOf(n, k);
    ir::Value scale;
    scale.name = names.make(program[param.value].name + ".scale");
    scale.kind = ir::ValueKind::parameter;
    scale.type = ir::DType::f32;
    for (int64_t size : sizes::scaleShape(scales, n, k))
      scale.dims.push_back(ir::addDim(program, "scales", size));
    scale.sharding.dims.resize(scale.dims.size());
    scale.range = program[param.value].range;
    param.quantization = ir::WeightQuantization{
        sizes::weightFormatName(format), sizes::weightScalesName(scales),
        ir::addValue(program, std::move(scale))};
    if (format == sizes::WeightFormat::int4) {
      const ir::Dim& last = program[program[param.value].dims.back()];
      const ir::DimId half =
          ir::addDim(program, last.name + "_pairs", last.size / 2, last.range);
      program[param.value].dims.back() = half;
    }
    program[param.value].type = sizes::storedType(format);
    quantizations.emplace(param.value, *param.quantization);
  }

  sizes::WeightScales scalesOf(int64_t n, int64_t k) const {
    if (format == sizes::WeightFormat::int4)
      return sizes::WeightScales::groups;
    return multipliesInFp8 && fitsMatmulsInFp8(n, k)
               ? sizes::WeightScales::squares
               : sizes::WeightScales::rows;
  }

  std::pair<int64_t, int64_t> sizesOf(ValueId weight, int rows) const {
    const std::vector<int64_t> shape = ir::localShape(program, weight);
    const auto middle = shape.begin() + rows;
    return {
        std::accumulate(shape.begin(), middle, int64_t(1), std::multiplies<>()),
        std::accumulate(middle, shape.end(), int64_t(1), std::multiplies<>())};
  }

  void rewrite(ir::Op& op) const {
    if (op.kind != OpKind::Linear)
      return;
    const auto found = quantizations.find(op.operands[1]);
    if (found == quantizations.end())
      return;
    op.kind = OpKind::QuantizedLinear;
    op.operands = {op.operands[0], op.operands[1], found->second.scale,
                   ValueId::none};
    op.attributes.erase("accumulate");
    op.attributes["scales"] = found->second.scales;
  }

  ir::Module& program;
  ValueNames names;
  sizes::WeightFormat format;
  bool multipliesInFp8;
  std::vector<ValueId> exactResults; // of linears that stay
  std::vector<bool> canQuantize;     // by value
  std::vector<int> rowDims;          // by value; -1: no linear reads it
  std::map<ValueId, ir::WeightQuantization> quantizations; // by weight
};

} // namespace

void quantizeWeights(ir::Module& program, const recipe::Recipe& recipe) {
  const std::string name = recipe.string("serve.weights");
  if (name == "bf16")
    return;
  const auto format = sizes::findWeightFormat(name);
  assert(format && "schema/serve.recipe lists the formats");
  WeightQuantizer(program, recipe, *format).run();
}

} // namespace recipec::passes
