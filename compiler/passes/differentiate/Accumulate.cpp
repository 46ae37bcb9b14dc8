// Fuses adds of a linear's result into the linear, in fp8 or not.
//
// 1. Count the ops that read and that write each value, in all functions, and
//    record the writers so far in this function. An add owns an operand when it
//    is the only reader and all writers are in this function.
// 2. At an add that owns a linear's result, the linear moves to the add's
//    place. Of two linears the one with the larger weight moves, so that the
//    result of the smaller one is read again. If the add also owns the other
//    operand, the writers of that operand write the sum and the linear
//    accumulates into it in place. Otherwise the linear becomes a linear_add or
//    scaled_matmul_add.
// 3. At an add that owns a sum from step 2, the sum's first writer becomes a
//    linear_add of the other operand, and all writers write the add's result.

#include "compiler/passes/differentiate/Accumulate.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Accumulation {
public:
  Accumulation(ir::Module& program, std::set<OpKind> matmuls)
      : program(program), matmuls(std::move(matmuls)),
        readers(program.values.size()), writers(program.values.size()) {}

  void run() {
    for (const ir::Function& function : program.functions)
      for (const Op& op : function.ops) {
        count(op.operands, readers);
        count(op.results, writers);
      }
    for (const auto& [role, value] : program.bindings)
      ++readers[size_t(value)];
    for (ir::Function& function : program.functions)
      run(function);
  }

private:
  static void count(const std::vector<ValueId>& values, std::vector<int>& of) {
    for (ValueId value : values)
      if (value != ValueId::none)
        ++of[size_t(value)];
  }

  void run(ir::Function& function) {
    ops = &function.ops;
    isWritten.assign(program.values.size(), false);
    for (const Op& op : *ops)
      for (ValueId result : op.results)
        if (result != ValueId::none)
          isWritten[size_t(result)] = true;
    makers.assign(program.values.size(), {});
    dropped.assign(ops->size(), false);
    for (size_t i = 0; i < ops->size(); ++i) {
      const Op& op = (*ops)[i];
      if (op.kind == OpKind::Add && (moveMatmul(i) || addToSum(i)))
        continue;
      for (ValueId result : op.results)
        if (result != ValueId::none)
          makers[size_t(result)].push_back(i);
    }
    size_t next = 0;
    std::erase_if(*ops, [&](const Op&) { return dropped[next++]; });
  }

  /// Step 2, for the add at index `place`. Returns whether it changed
  /// something.
  bool moveMatmul(size_t place) {
    const Op add = (*ops)[place];
    const ValueId product = matmulOf(add);
    if (product == ValueId::none)
      return false;
    const ValueId other = add.operands[add.operands[0] == product ? 1 : 0];
    const size_t from = makers[size_t(product)][0];
    Op linear = std::move((*ops)[from]);
    dropped[from] = true;
    linear.results = add.results;
    if (owns(other)) {
      linear.attributes["accumulate"] = true;
      replace(other, add.results[0]);
      ++writers[size_t(add.results[0])];
    } else {
      addTo(linear, other);
    }
    makers[size_t(add.results[0])].push_back(place);
    (*ops)[place] = std::move(linear);
    return true;
  }

  /// Step 3, for the add at index `place`. Returns whether it changed
  /// something.
  bool addToSum(size_t place) {
    const Op& add = (*ops)[place];
    for (size_t i = 0; i < 2; ++i) {
      const ValueId sum = add.operands[i], other = add.operands[1 - i];
      if (!owns(sum) || !isMatmul((*ops)[makers[size_t(sum)][0]]))
        continue;
      const size_t first = makers[size_t(sum)][0];
      if (!isReadyAt(other, first))
        continue;
      addTo((*ops)[first], other);
      replace(sum, add.results[0]);
      dropped[place] = true;
      return true;
    }
    return false;
  }

  /// Makes the writers of `value` write `sum`, the result of an add, instead.
  void replace(ValueId value, ValueId sum) {
    makers[size_t(sum)] = makers[size_t(value)];
    writers[size_t(sum)] = writers[size_t(value)];
    for (size_t maker : makers[size_t(value)])
      std::ranges::replace((*ops)[maker].results, value, sum);
  }

  /// The operand of an add that a matmul computes and whose matmul can move to
  /// the add; `none` if there is none.
  ValueId matmulOf(const Op& add) const {
    ValueId best = ValueId::none;
    int64_t most = -1;
    for (ValueId operand : add.operands) {
      if (!owns(operand) || makers[size_t(operand)].size() != 1)
        continue;
      const Op& maker = (*ops)[makers[size_t(operand)][0]];
      if (!isMatmul(maker) ||
          !std::ranges::all_of(
              maker.operands, [&](ValueId value) { return isConstant(value); }))
        continue;
      // Of two equal sizes, takes the second, which is computed last.
      if (const int64_t size = ir::localElements(program, maker.operands[1]);
          size >= most) {
        most = size;
        best = operand;
      }
    }
    return best;
  }

  bool isMatmul(const Op& op) const {
    return matmuls.contains(op.kind) && !op.attributes.contains("accumulate");
  }

  /// Turns a matmul into one that adds `other`.
  static void addTo(Op& product, ValueId other) {
    product.kind = product.kind == OpKind::Linear ? OpKind::LinearAdd
                                                  : OpKind::ScaledMatmulAdd;
    product.operands.push_back(other);
  }

  /// Whether a value does not change in this function, so that it may be read
  /// later: it has at most one writer, or none in this function.
  bool isConstant(ValueId value) const {
    return writers[size_t(value)] <= 1 || !isWritten[size_t(value)];
  }

  bool owns(ValueId value) const {
    const size_t made = makers[size_t(value)].size();
    return program[value].kind == ir::ValueKind::temporary &&
           readers[size_t(value)] == 1 && made > 0 &&
           made == size_t(writers[size_t(value)]);
  }

  /// Whether all writers of a value are in this function before `place`.
  bool isReadyAt(ValueId value, size_t place) const {
    const std::vector<size_t>& made = makers[size_t(value)];
    if (made.empty())
      return isConstant(value);
    return made.back() < place && made.size() == size_t(writers[size_t(value)]);
  }

  ir::Module& program;
  std::set<OpKind> matmuls;
  std::vector<int> readers, writers; // by value
  std::vector<bool> isWritten;       // by value, in this function
  std::vector<Op>* ops = nullptr;
  std::vector<std::vector<size_t>> makers; // by value, in order
  std::vector<bool> dropped;               // by op
};

} // namespace

void accumulate(ir::Module& program, std::set<OpKind> matmuls) {
  Accumulation(program, std::move(matmuls)).run();
}

} // namespace recipec::passes
