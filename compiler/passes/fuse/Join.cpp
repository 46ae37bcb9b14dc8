// Narrow matmuls are limited by memory bandwidth, mostly for reading or writing
// the wide operand. Matmuls that share this operand are joined to one op.
//
// In each function:
// 1. A softmax_sum and the softmax_max of its maximum become a softmax_stats.
// 2. Take the weight gradients first, then the forward matmuls, then the input
//    gradients. For each narrow one, look for later ones of the same layer that
//    share x, or the sum that they add to. If ops in between compute operands
//    of the later one, they must be movable before the first one.
// 3. Up to three of them become one op in place of the first.
//
// An op is movable when each of its operands and results is written once.

#include "compiler/passes/fuse/Join.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

constexpr size_t most = 3; // matmuls in one op
// A weight is narrow if it has n <= `mostRows` rows of at least `longer` * n
// elements each.
constexpr int64_t mostRows = 64, longer = 8;

class Joining {
public:
  explicit Joining(ir::Module& program)
      : program(program), writers(program.values.size()) {
    for (const ir::Function& function : program.functions)
      for (const Op& op : function.ops)
        for (ValueId result : op.results)
          if (result != ValueId::none)
            ++writers[size_t(result)];
  }

  void run() {
    for (ir::Function& function : program.functions) {
      ops = &function.ops;
      joinSoftmax();
      // Wgrads come first: joining them moves the ops whose results the dgrads
      // of their weights read.
      for (OpKind kind :
           {OpKind::LinearWgrad, OpKind::Linear, OpKind::LinearDgrad})
        for (size_t i = 0; i < ops->size(); ++i)
          if ((*ops)[i].kind == kind && isNarrow((*ops)[i]))
            joinBehind(i);
    }
  }

private:
  void joinSoftmax() {
    for (size_t i = 0; i < ops->size(); ++i) {
      Op& sum = (*ops)[i];
      if (sum.kind != OpKind::SoftmaxSum)
        continue;
      const auto end = ops->begin() + long(i);
      const auto max = std::find_if(ops->begin(), end, [&](const Op& op) {
        return op.kind == OpKind::SoftmaxMax &&
               op.results[0] == sum.operands[1];
      });
      if (max == end || max->operands[0] != sum.operands[0] ||
          !program[sum.operands[0]].sharding.dims.back().empty())
        continue;
      assert(std::none_of(
                 max, end,
                 [&](const Op& op) { return reads(op, sum.operands[1]); }) &&
             "a maximum goes into the sum first");
      sum.kind = OpKind::SoftmaxStats;
      sum.results = {sum.operands[1], sum.results[0]};
      sum.operands = {sum.operands[0], sum.operands[2]};
      sum.group = {}; // this rank has the whole vocabulary
      ops->erase(max);
      --i;
    }
  }

  // ---- matmuls

  /// The weight, or its gradient.
  static ValueId weightOf(const Op& op) {
    return op.kind == OpKind::LinearWgrad ? op.results[0] : op.operands[1];
  }

  /// The value that joined matmuls share.
  static ValueId sharedBy(const Op& op) {
    return op.kind == OpKind::LinearDgrad ? op.results[0] : op.operands[0];
  }

  /// Whether n is small, for x [lead..., k...], w [n..., k...] and y [lead...,
  /// n...].
  bool isNarrow(const Op& op) const {
    const bool isDgrad = op.kind == OpKind::LinearDgrad;
    const ValueId x = isDgrad ? op.results[0] : op.operands[0];
    const ValueId y = isDgrad                          ? op.operands[0]
                      : op.kind == OpKind::LinearWgrad ? op.operands[1]
                                                       : op.results[0];
    const ValueId w = weightOf(op);
    const size_t rows = (program[w].dims.size() + program[y].dims.size() -
                         program[x].dims.size()) /
                        2;
    const std::vector<int64_t> shape = ir::localShape(program, w);
    int64_t n = 1;
    for (size_t i = 0; i < rows; ++i)
      n *= shape[i];
    return n <= mostRows && ir::localElements(program, w) >= longer * n * n;
  }

  static bool isAdded(const Op& op) {
    return op.attributes.contains("accumulate");
  }

  static double factorOf(const Op& op) {
    return ops::LinearAttributes(op.attributes).alpha;
  }

  bool fits(const Op& first, const Op& other) const {
    return other.kind == first.kind && other.layer == first.layer &&
           sharedBy(other) == sharedBy(first) &&
           weightOf(other) != weightOf(first) &&
           factorOf(other) == factorOf(first) && isNarrow(other) &&
           (first.kind != OpKind::Linear ||
            (!isAdded(first) && !isAdded(other)));
  }

  /// Joins the op with matching ops that follow.
  void joinBehind(size_t& first) {
    std::vector<Op> group = {(*ops)[first]};
    for (size_t i = first + 1; i < ops->size() && group.size() < most; ++i) {
      const Op& other = (*ops)[i];
      if (other.layer != group[0].layer)
        break;
      if (reads(other, sharedResult(group[0])))
        break;
      if (!fits(group[0], other) || !moveMakers(first, i))
        continue;
      group.push_back((*ops)[i]);
      ops->erase(ops->begin() + long(i));
      --i;
    }
    if (group.size() > 1)
      (*ops)[first] = joined(group);
  }

  /// The sum that joined input gradients add to; no op may read it between
  /// them. `none` for other matmuls.
  static ValueId sharedResult(const Op& op) {
    return op.kind == OpKind::LinearDgrad ? op.results[0] : ValueId::none;
  }

  static bool reads(const Op& op, ValueId value) {
    return value != ValueId::none &&
           std::ranges::find(op.operands, value) != op.operands.end();
  }

  /// Moves the ops that compute the operands of op `i` before op `first`, and
  /// updates `first`. Returns false and moves nothing when one of them cannot
  /// be moved.
  bool moveMakers(size_t& first, size_t i) {
    std::vector<bool> isMoved(i - first);
    std::vector<ValueId> wanted = (*ops)[i].operands;
    if (!areConstant(wanted))
      return false;
    for (size_t k = i; --k > first;) {
      const Op& op = (*ops)[k];
      const bool makes = std::ranges::any_of(op.results, [&](ValueId result) {
        return std::ranges::find(wanted, result) != wanted.end() &&
               result != ValueId::none;
      });
      if (!makes)
        continue;
      if (ops::traitsOf(op.kind).isCollective || !areConstant(op.operands) ||
          !areConstant(op.results))
        return false;
      isMoved[k - first] = true;
      wanted.insert(wanted.end(), op.operands.begin(), op.operands.end());
    }
    if (std::ranges::find_first_of((*ops)[first].results, wanted) !=
        (*ops)[first].results.end())
      return false;
    const auto begin = ops->begin() + long(first);
    size_t next = 0;
    const auto behind =
        std::stable_partition(begin, begin + long(isMoved.size()),
                              [&](const Op&) { return bool(isMoved[next++]); });
    first += size_t(behind - begin);
    return true;
  }

  bool areConstant(const std::vector<ValueId>& values) const {
    return std::ranges::all_of(values, [&](ValueId value) {
      return value == ValueId::none || writers[size_t(value)] <= 1;
    });
  }

  static Op joined(const std::vector<Op>& group) {
    Op op = group[0];
    auto of = [&](auto list, size_t place) {
      std::vector<ValueId> values(most, ValueId::none);
      for (size_t i = 0; i < group.size(); ++i)
        values[i] = (group[i].*list)[place];
      return values;
    };
    auto behind = [](std::vector<ValueId> values,
                     const std::vector<ValueId>& others) {
      values.insert(values.end(), others.begin(), others.end());
      return values;
    };
    switch (op.kind) {
    case OpKind::Linear:
      op.kind = OpKind::LinearJoint;
      op.operands = behind({op.operands[0]}, of(&Op::operands, 1));
      op.results = of(&Op::results, 0);
      break;
    case OpKind::LinearDgrad:
      op.kind = OpKind::LinearJointDgrad;
      op.operands = behind(of(&Op::operands, 0), of(&Op::operands, 1));
      break;
    default:
      op.kind = OpKind::LinearJointWgrad;
      op.operands = behind({op.operands[0]}, of(&Op::operands, 1));
      op.results = of(&Op::results, 0);
    }
    return op;
  }

  ir::Module& program;
  std::vector<int> writers; // by value
  std::vector<Op>* ops = nullptr;
};

} // namespace

void join(ir::Module& program) {
  Joining(program).run();
}

} // namespace recipec::passes
