// See MultiplyInFp8.h.

#include "compiler/passes/inference/MultiplyInFp8.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/sizes/ScaleBlocks.h"
#include "runtime/sizes/WeightScales.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

namespace sizes = reciperun::sizes;

using ir::OpKind;
using ir::ValueId;
using sizes::WeightScales;

/// With fewer tokens, a matmul takes as long as reading its weight.
constexpr int64_t leastTokens = 16;
/// cuBLASLt reads matrices and their scales in vectors of 16 bytes.
constexpr int64_t sizeMultiple = 16;

/// A matrix in fp8 and its scales.
struct QuantizedInput {
  ValueId matrix, scale;
};

/// The `blocks` of both operands of a `scaled_matmul`.
struct BlockNames {
  const char *input, *weight;
};

/// The blocks for a weight with these scales in `quantized_linear`; nullopt if
/// `scaled_matmul` does not support them.
std::optional<BlockNames> blocksOf(WeightScales scales) {
  switch (scales) {
  case WeightScales::rows:
    return BlockNames{"whole_rows", "whole_rows"};
  case WeightScales::squares:
    return BlockNames{"rows", "squares"};
  case WeightScales::tensor:
  case WeightScales::groups:
    break;
  }
  return std::nullopt;
}

std::optional<BlockNames> blocksOf(const ir::Op& linear) {
  return blocksOf(*sizes::findWeightScales(
      ops::QuantizedLinearAttributes(linear.attributes).scales));
}

class Fp8Steps {
public:
  explicit Fp8Steps(ir::Module& program) : program(program), names(program) {}

  void run() {
    for (ir::Function& function : program.functions) {
      inputs.clear();
      for (ir::Op& op : std::exchange(function.ops, {}))
        if (isChosen(op))
          rewrite(std::move(op), function.ops);
        else
          function.ops.push_back(std::move(op));
    }
  }

private:
  bool isChosen(const ir::Op& op) const {
    if (op.kind != OpKind::QuantizedLinear ||
        program[op.operands[1]].type != ir::DType::f8e4m3 || !blocksOf(op))
      return false;
    const int64_t tokens = rowsOf(op.operands[0], leadOf(op)),
                  inputs = ir::localElements(program, op.operands[0]) / tokens,
                  outputs = ir::localElements(program, op.results[0]) / tokens;
    return tokens >= leastTokens && tokens % sizeMultiple == 0 &&
           inputs % sizeMultiple == 0 && outputs % sizeMultiple == 0;
  }

  /// The number of x's dimensions that are tokens.
  size_t leadOf(const ir::Op& linear) const {
    return (program[linear.operands[0]].dims.size() +
            program[linear.results[0]].dims.size() -
            program[linear.operands[1]].dims.size()) /
           2;
  }

  int64_t rowsOf(ValueId x, size_t lead) const {
    int64_t rows = 1;
    for (size_t i = 0; i < lead; ++i)
      rows *= program[program[x].dims[i]].size;
    return rows;
  }

  void rewrite(ir::Op linear, std::vector<ir::Op>& out) {
    const BlockNames blocks = *blocksOf(linear);
    const QuantizedInput x = quantized(linear, blocks.input, out);
    linear.kind = OpKind::ScaledMatmul;
    linear.operands = {x.matrix, linear.operands[1], x.scale,
                       linear.operands[2]};
    linear.attributes.erase("scales");
    linear.attributes["a_blocks"] = std::string(blocks.input);
    linear.attributes["b_blocks"] = std::string(blocks.weight);
    linear.attributes["fast"] = true;
    out.push_back(std::move(linear));
  }

  /// The input of `linear` in fp8. The first op that reads an input adds its
  /// quantization.
  QuantizedInput quantized(const ir::Op& linear, const std::string& blocks,
                           std::vector<ir::Op>& out) {
    const ValueId x = linear.operands[0];
    const std::pair key(x, blocks);
    if (auto found = inputs.find(key); found != inputs.end())
      return found->second;
    const size_t lead = leadOf(linear);
    const int64_t rows = rowsOf(x, lead),
                  columns = ir::localElements(program, x) / rows;
    ir::Value matrix = program[x];
    matrix.name = names.make(matrix.name + ".fp8");
    matrix.kind = ir::ValueKind::temporary;
    matrix.type = ir::DType::f8e4m3;
    ir::Value scale;
    scale.name = names.make(program[x].name + ".fp8_scale");
    scale.kind = ir::ValueKind::temporary;
    scale.type = ir::DType::f32;
    scale.range = program[x].range;
    for (int64_t size :
         sizes::scalesOf(*sizes::findScaleBlocks(blocks), rows, columns).shape)
      scale.dims.push_back(ir::constantDim(program, size));
    scale.sharding.dims.resize(scale.dims.size());
    ir::Op cast{};
    cast.kind = OpKind::Quantize;
    cast.name = program[x].name;
    cast.layer = linear.layer;
    cast.range = linear.range;
    cast.attributes["lead"] = int64_t(lead);
    cast.attributes["blocks"] = blocks;
    const QuantizedInput made = {ir::addValue(program, std::move(matrix)),
                                 ir::addValue(program, std::move(scale))};
    cast.operands = {x, ValueId::none};
    cast.results = {made.matrix, made.scale, ValueId::none, ValueId::none,
                    ValueId::none};
    out.push_back(std::move(cast));
    inputs.emplace(key, made);
    return made;
  }

  ir::Module& program;
  ValueNames names;
  // The quantized inputs of the current function, by x and `blocks`.
  std::map<std::pair<ValueId, std::string>, QuantizedInput> inputs;
};

} // namespace

void multiplyInFp8(ir::Module& program) {
  Fp8Steps(program).run();
}

} // namespace recipec::passes
