// Walks back from the last value as long as the op computes each token
// independently, reads a single value besides parameters, and is its only
// reader.

#include "compiler/passes/inference/TokenWiseTail.h"

#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace recipec::passes {
namespace {

using ir::ValueId;

/// Whether a collective moves data along other dimensions than the tokens'.
bool leavesTokens(const ir::Op& op) {
  switch (op.kind) {
  case ir::OpKind::AllReduce:
    return true;
  case ir::OpKind::AllGather:
    return ops::AllGatherAttributes(op.attributes).dim > 1;
  default: // ops that only distributed training has, too
    return false;
  }
}

bool isTokenWise(const ir::Op& op) {
  switch (ops::infoOf(op.kind).family) {
  case ops::OpFamily::activations:
  case ops::OpFamily::dense:
  case ops::OpFamily::moves:
  case ops::OpFamily::norms:
  case ops::OpFamily::sampling:
    return true;
  case ops::OpFamily::collectives:
    return leavesTokens(op);
  case ops::OpFamily::attention:
  case ops::OpFamily::experts:
  case ops::OpFamily::loss:
  case ops::OpFamily::optimizer:
  case ops::OpFamily::quantization:
  case ops::OpFamily::stateSpace:
    return false;
  }
  return false;
}

/// Whether both values begin with the same two dimensions, [1, tokens].
bool haveSameTokens(const ir::Value& left, const ir::Value& right) {
  return left.dims.size() >= 2 && right.dims.size() >= 2 &&
         std::equal(left.dims.begin(), left.dims.begin() + 2,
                    right.dims.begin());
}

class TailSearch {
public:
  TailSearch(const ir::Module& program, const ir::Function& forward)
      : program(program) {
    for (const ir::Op& op : forward.ops) {
      for (ValueId result : op.results)
        if (result != ValueId::none)
          makers[result] = &op;
      for (ValueId operand : op.operands)
        ++readers[operand];
    }
  }

  TokenWiseTail run(ValueId last) {
    TokenWiseTail tail{last, {}};
    while (const ir::Op* op = maker(tail.input)) {
      const ValueId read = onlyOperand(*op);
      if (read == ValueId::none)
        break;
      for (ValueId result : op->results)
        if (result != ValueId::none)
          tail.results.insert(result);
      tail.input = read;
    }
    return tail;
  }

private:
  const ir::Op* maker(ValueId value) const {
    auto found = makers.find(value);
    return found == makers.end() ? nullptr : found->second;
  }

  /// The only operand that is not a parameter; `none` when the op does not
  /// belong to a tail.
  ValueId onlyOperand(const ir::Op& op) const {
    ValueId only = ValueId::none;
    // The host supplies `draws` for the wanted rows only, so it does not count.
    const size_t count = op.kind == ir::OpKind::Sample ? 1 : op.operands.size();
    for (ValueId operand : std::span(op.operands).first(count)) {
      if (operand == ValueId::none ||
          program[operand].kind == ir::ValueKind::parameter)
        continue;
      if (only != ValueId::none)
        return ValueId::none;
      only = operand;
    }
    const bool isChained =
        isTokenWise(op) && only != ValueId::none &&
        program[only].kind != ir::ValueKind::input && readers.at(only) == 1 &&
        haveSameTokens(program[only], program[op.results[0]]);
    return isChained ? only : ValueId::none;
  }

  const ir::Module& program;
  std::unordered_map<ValueId, const ir::Op*> makers;
  std::unordered_map<ValueId, int> readers;
};

} // namespace

TokenWiseTail findTokenWiseTail(const ir::Module& program,
                                const ir::Function& forward, ValueId last) {
  return TailSearch(program, forward).run(last);
}

} // namespace recipec::passes
