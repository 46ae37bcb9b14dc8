// 1. Behind each dispatch and each gradient of a combine, quantize the rows.
// 2. The collectives that move the rows to the ranks of the experts move the
//    bytes.
// 3. Behind the last of them, dequantize. Without any, dequantize at once, so
//    that experts compute with the same rows in every layout.

#include "compiler/passes/precision/DispatchInFp8.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/ValueReaders.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/NarrowRows.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Dispatches {
public:
  explicit Dispatches(ir::Module& program) : program(program), names(program) {}

  void run() {
    const std::vector<int> readers = countReaders(program);
    for (const char* name : {"forward", "backward"})
      for (const Op& op : ir::findFunction(program, name)->ops)
        if (isMove(op) && readers[size_t(op.operands[0])] == 1)
          moved.insert(op.operands[0]);
    for (const char* name : {"forward", "backward"}) {
      ir::Function& function = *ir::findFunction(program, name);
      for (Op& op : std::exchange(function.ops, {}))
        rewrite(std::move(op));
      function.ops = std::exchange(out, {});
    }
  }

private:
  /// Whether an op moves whole rows between ranks.
  static bool isMove(const Op& op) {
    return op.kind == OpKind::AllToAll || op.kind == OpKind::AllGather;
  }

  void rewrite(Op op) {
    if (op.kind == OpKind::Dispatch || op.kind == OpKind::CombineBackward)
      return start(std::move(op));
    const auto from = isMove(op) ? bytes.find(op.operands[0]) : bytes.end();
    if (from == bytes.end())
      return out.push_back(std::move(op));
    const ValueId rows = op.results[0], made = addBytes(rows);
    op.operands[0] = from->second;
    op.results[0] = made;
    out.push_back(op);
    arrive(op, made, rows);
  }

  void start(Op op) {
    const ValueId rows = op.results[0];
    ValueId whole = rows;
    if (!moved.contains(rows)) {
      ir::Value value = program[rows];
      value.kind = ir::ValueKind::temporary;
      value.name = names.make(value.name + ".whole");
      whole = ir::addValue(program, std::move(value));
      op.results[0] = whole;
    }
    const ValueId made = addBytes(whole);
    out.push_back(op);
    add(OpKind::QuantizeRows, op, whole, made);
    arrive(op, made, rows);
  }

  /// Lets the next move take the bytes of `rows`, or dequantizes them.
  void arrive(const Op& op, ValueId made, ValueId rows) {
    if (moved.contains(rows))
      bytes[rows] = made;
    else
      add(OpKind::DequantizeRows, op, made, rows);
  }

  /// Appends an op for the rows that `behind` makes or moves.
  void add(OpKind kind, const Op& behind, ValueId from, ValueId to) {
    Op op{};
    op.kind = kind;
    op.name = behind.name;
    op.layer = behind.layer;
    op.range = behind.range;
    op.operands = {from};
    op.results = {to};
    out.push_back(std::move(op));
  }

  ValueId addBytes(ValueId rows) {
    ir::Value value = program[rows];
    const int64_t width = program[value.dims.back()].size;
    value.kind = ir::ValueKind::temporary;
    value.type = ir::DType::u8;
    value.name = names.make(value.name + ".fp8");
    value.dims.back() =
        ir::constantDim(program, reciperun::sizes::NarrowRow{width}.bytes());
    return ir::addValue(program, std::move(value));
  }

  ir::Module& program;
  ValueNames names;
  std::unordered_set<ValueId> moved; // rows that only a move reads
  std::unordered_map<ValueId, ValueId> bytes;
  std::vector<Op> out;
};

} // namespace

void dispatchInFp8(ir::Module& program, const recipe::Recipe& recipe) {
  if (!recipe.at("precision.dispatch").isNone())
    Dispatches(program).run();
}

} // namespace recipec::passes
