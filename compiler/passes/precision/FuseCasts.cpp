// If a value is only quantized to fp8, it need not be stored: the op that
// computes it also quantizes it. When the scale needs a pass over all elements,
// the op computes them twice. This reads the op's operands once more, and saves
// the write and the read of its results.
//
// 1. Count the readers of each value, in all functions.
// 2. Find each swiglu and swiglu_backward whose results are all temporaries
//    with one reader, a quantize of the same function and layer. The quantizes
//    of one op must have equal attributes and types.
// 3. Replace the op by one with all results of the quantizes, and delete the
//    quantizes. Results that no op reads are left out.
// 4. Do the same for an rmsnorm of a serving step, whose quantize has one scale
//    per row.

#include "compiler/passes/precision/FuseCasts.h"
#include "compiler/passes/ValueReaders.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

#include <algorithm>
#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class CastFusion {
public:
  explicit CastFusion(ir::Module& program)
      : program(program), readers(countReaders(program)) {}

  void run() {
    for (ir::Function& function : program.functions)
      run(function.ops);
  }

private:
  void run(std::vector<Op>& ops) {
    std::vector<size_t> castOf(program.values.size(), ops.size());
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i].kind == OpKind::Quantize)
        castOf[size_t(ops[i].operands[0])] = i;
    std::vector<bool> dropped(ops.size());
    for (Op& op : ops) {
      if (op.kind == OpKind::RmsNorm) {
        const size_t cast = castOf[size_t(op.results[0])];
        if (cast < ops.size() && isOfRows(op, ops[cast])) {
          fuseRows(op, ops[cast]);
          dropped[cast] = true;
        }
        continue;
      }
      if (op.kind != OpKind::Swiglu && op.kind != OpKind::SwigluBackward)
        continue;
      std::vector<size_t> casts;
      for (ValueId result : op.results)
        casts.push_back(castOf[size_t(result)]);
      if (!std::ranges::all_of(casts, [&](size_t cast) {
            return cast < ops.size() && isAllThatReads(ops[cast], op) &&
                   areAlike(ops[cast], ops[casts[0]]);
          }))
        continue;
      fuse(op, ops, casts);
      for (size_t cast : casts)
        dropped[cast] = true;
    }
    size_t next = 0;
    std::erase_if(ops, [&](const Op&) { return dropped[next++]; });
  }

  bool isAllThatReads(const Op& cast, const Op& maker) const {
    const ValueId value = cast.operands[0];
    return program[value].kind == ir::ValueKind::temporary &&
           readers[size_t(value)] == 1 && cast.layer == maker.layer;
  }

  /// Whether a single op can do both casts.
  bool areAlike(const Op& cast, const Op& other) const {
    return cast.attributes == other.attributes && typeOf(cast) == typeOf(other);
  }

  ir::DType typeOf(const Op& cast) const {
    const ValueId q = cast.results[0];
    return program[q != ValueId::none ? q : cast.results[2]].type;
  }

  void fuse(Op& op, const std::vector<Op>& ops,
            const std::vector<size_t>& casts) const {
    op.kind = op.kind == OpKind::Swiglu ? OpKind::SwigluQuantize
                                        : OpKind::SwigluBackwardQuantize;
    op.attributes = ops[casts[0]].attributes;
    op.results.clear();
    for (size_t cast : casts) {
      op.operands.push_back(ops[cast].operands[1]);
      for (ValueId result : ops[cast].results)
        op.results.push_back(isNeeded(result) ? result : ValueId::none);
    }
  }

  /// Whether the cast is the only reader of an rmsnorm and has a scale for each
  /// of its rows.
  bool isOfRows(const Op& norm, const Op& cast) const {
    const ValueId weight = norm.operands[1];
    const ops::QuantizeAttributes attributes(cast.attributes);
    return isAllThatReads(cast, norm) && !isNeeded(norm.results[1]) &&
           attributes.blocks == "whole_rows" &&
           size_t(attributes.lead) + 1 ==
               program[norm.operands[0]].dims.size() &&
           (weight == ValueId::none || program[weight].dims.size() == 1) &&
           typeOf(cast) == ir::DType::f8e4m3;
  }

  void fuseRows(Op& norm, const Op& cast) const {
    norm.kind = OpKind::RmsNormQuantize;
    norm.attributes["lead"] = ops::QuantizeAttributes(cast.attributes).lead;
    norm.results = {cast.results[0], cast.results[1]};
  }

  /// Whether an op reads the result, in this step or the next.
  bool isNeeded(ValueId result) const {
    return result != ValueId::none && readers[size_t(result)] > 0;
  }

  ir::Module& program;
  std::vector<int> readers; // by value
};

} // namespace

void fuseCasts(ir::Module& program) {
  CastFusion(program).run();
}

} // namespace recipec::passes
