// For each function with collectives between the ops of its layers:
//
// 1. Weight-gradient matmuls wait in a queue. None waits longer than a layer,
//    because it keeps its operands alive, or past an op with which it has a
//    data dependency.
// 2. A collective starts only as early as needed to hide its time, not before
//    its operand is ready and not before an earlier collective, because the
//    link processes them one by one. If the ops in between take too little
//    time, matmuls from the queue follow its start.
// 3. A collective is done before the first op that reads its result. If too
//    little of its time is hidden, it is not split: a split reduce-scatter
//    takes another pass over memory to add up the exchanged parts.
//
// 4. An exchange of the rows of experts between domains of links is split, too,
//    if all rows hold tokens: the network takes longer than the experts' weight
//    gradients. Then these wait in the queue as well, and all matmuls wait for
//    the first such exchange of the next layer.
//
// The hardware's roofline gives the time of ops, and the model of predictions
// that of exchanges between domains.

#include "compiler/passes/distributed/OverlapMatmuls.h"

#include "compiler/cost/Collectives.h"
#include "compiler/cost/Kernels.h"
#include "compiler/cost/Machine.h"
#include "compiler/cost/Roofline.h"
#include "compiler/passes/distributed/CollectiveHalves.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// A value as a range of elements of a buffer. Members of a region and views
/// are ranges of another value.
struct Extent {
  ValueId whole = ValueId::none;
  int64_t begin = 0;
  int64_t end = std::numeric_limits<int64_t>::max();

  bool meets(const Extent& other) const {
    return whole == other.whole && begin < other.end && other.begin < end;
  }
};

class MatmulOverlap {
public:
  MatmulOverlap(ir::Module& program, const recipe::Recipe& recipe)
      : program(program), halves(program),
        machine(cost::machineOf(program, recipe)), kernels(program, machine),
        collectives(program, machine, kernels),
        roofline(cost::opSeconds(program, recipe)) {
    for (const ir::Region& region : program.regions)
      findMembers(region);
    for (const ir::Function& function : program.functions)
      for (const Op& op : function.ops)
        if (op.kind == OpKind::View)
          findView(op);
  }

  void run() {
    for (ir::Function& function : program.functions)
      if (std::any_of(function.ops.begin(), function.ops.end(),
                      [&](const Op& op) { return hasHalves(op); }))
        run(function);
  }

private:
  void run(ir::Function& function) {
    for (const Op& op : function.ops)
      if (isFarExchange(op))
        exchangesAhead.insert(op.layer);
    exchangesFar = !exchangesAhead.empty();
    for (Op& op : std::exchange(function.ops, {})) {
      if (isGradientMatmul(op)) {
        queue.push_back(std::move(op));
        continue;
      }
      makeWay(op);
      if (hasHalves(op))
        begin(std::move(op));
      else
        emit(std::move(op));
    }
    while (!queue.empty())
      emitNext();
    while (!underway.empty())
      finish(underway.begin());
    function.ops = std::exchange(out, {});
  }

  // ---- dependencies

  void findMembers(const ir::Region& region) {
    auto add = [&](ValueId member, ValueId whole, int64_t begin, int64_t end) {
      if (member != ValueId::none && whole != ValueId::none)
        extents[member] = {whole, begin, end};
    };
    for (size_t i = 0; i < region.params.size(); ++i) {
      const ir::Param& param = program[region.params[i]];
      int64_t begin = region.starts[i];
      int64_t end = begin + ir::localElements(program, param.value);
      add(param.value, region.param, begin, end);
      add(param.gradient, region.gradient, begin, end);
    }
    add(region.paramPart, region.param, 0, region.elements);
    add(region.gradientPart, region.gradient, 0, region.elements);
  }

  void findView(const Op& op) {
    Extent extent = extentOf(op.operands[0]);
    extent.begin += ops::ViewAttributes(op.attributes).start;
    extent.end = extent.begin + ir::localElements(program, op.results[0]);
    extents[op.results[0]] = extent;
  }

  Extent extentOf(ValueId value) const {
    auto found = extents.find(value);
    return found == extents.end() ? Extent{value} : found->second;
  }

  bool meet(const std::vector<ValueId>& left,
            const std::vector<ValueId>& right) const {
    for (ValueId value : left)
      for (ValueId other : right)
        if (value != ValueId::none && extentOf(value).meets(extentOf(other)))
          return true;
    return false;
  }

  /// Whether the order of two ops matters.
  bool depend(const Op& left, const Op& right) const {
    return meet(left.results, right.operands) ||
           meet(left.results, right.results) ||
           meet(left.operands, right.results);
  }

  // ---- queued matmuls

  /// Whether the op is a matmul that adds to a parameter's gradient. Excludes
  /// the matmuls of experts, unless an exchange between domains overlaps them:
  /// their operands may have the capacity for all possible tokens, so a queue
  /// of them would take much memory.
  bool isGradientMatmul(const Op& op) const {
    switch (op.kind) {
    case OpKind::LinearWgrad:
    case OpKind::LinearJointWgrad:
      return true;
    case OpKind::ExpertLinearWgrad:
      return exchangesFar;
    case OpKind::ScaledMatmul:
      return program[op.results[0]].kind == ir::ValueKind::gradient ||
             extents.contains(op.results[0]);
    default:
      return false;
    }
  }

  /// Emits the queued matmuls that must precede an op. Also emits the matmuls
  /// of other layers, unless the op is a collective that they can overlap, or
  /// comes before the layer's first exchange between domains.
  void makeWay(const Op& op) {
    size_t count = 0;
    for (size_t i = 0; i < queue.size(); ++i)
      if (depend(queue[i], op) ||
          (queue[i].layer != op.layer && !hasHalves(op) &&
           !exchangesAhead.contains(op.layer)))
        count = i + 1;
    for (; count > 0; --count)
      emitNext();
  }

  void emitNext() {
    Op product = std::move(queue.front());
    queue.pop_front();
    emit(std::move(product));
  }

  // ---- collectives

  /// Whether a collective can be split in two: the ranks' parts are contiguous,
  /// and operand and result are different buffers.
  bool hasHalves(const Op& op) const {
    if (op.kind == OpKind::AllToAll)
      return isFarExchange(op);
    if ((op.kind != OpKind::AllGather && op.kind != OpKind::ReduceScatter) ||
        op.attributes.contains("when"))
      return false;
    ir::ValueKind from = program[op.operands[0]].kind;
    if ((from != ir::ValueKind::temporary && from != ir::ValueKind::saved) ||
        program[op.results[0]].kind != ir::ValueKind::temporary ||
        meet(op.operands, op.results))
      return false;
    std::vector<int64_t> shape = ir::localShape(program, op.operands[0]);
    int64_t dim = ops::AllGatherAttributes(op.attributes).dim;
    return std::all_of(shape.begin(), shape.begin() + dim,
                       [](int64_t size) { return size == 1; });
  }

  /// Whether the op exchanges whole rows of experts, which all hold tokens,
  /// between domains, in contiguous parts.
  bool isFarExchange(const Op& op) const {
    if (op.kind != OpKind::AllToAll || op.operands[1] == ValueId::none ||
        program[op.results[0]].kind != ir::ValueKind::temporary ||
        !collectives.isFar(op))
      return false;
    const std::vector<int64_t> from = ir::localShape(program, op.operands[0]),
                               to = ir::localShape(program, op.results[0]);
    const ops::AllToAllAttributes attributes(op.attributes);
    const auto areOnes = [](const std::vector<int64_t>& shape, int64_t count) {
      return std::all_of(shape.begin(), shape.begin() + count,
                         [](int64_t size) { return size == 1; });
    };
    return from.back() > 1 && areOnes(from, attributes.split) &&
           areOnes(to, attributes.concat) &&
           kernels.usedBytes(op.operands[0]) ==
               double(ir::localBytes(program, op.operands[0]));
  }

  double secondsOf(const Op& op) const {
    return isFarExchange(op) ? collectives.seconds(op) : roofline(op);
  }

  /// A collective that has started; `start` is its index in `out`.
  struct Begun {
    Op collective;
    size_t start = 0;
  };

  void begin(Op op) {
    finishBefore(op);
    exchangesAhead.erase(op.layer);
    const double needed = secondsOf(op);
    double hidden = 0;
    size_t place = out.size();
    while (hidden < needed && place > 0 &&
           !ops::traitsOf(out[place - 1].kind).isCollective &&
           !depend(out[place - 1], op))
      hidden += workOf(out[--place]);
    int layer = op.layer;
    out.insert(out.begin() + long(place), op);
    underway.push_back({std::move(op), place});
    while (!queue.empty() &&
           (hidden < needed || queue.front().layer != layer)) {
      hidden += workOf(queue.front());
      emitNext();
    }
  }

  void emit(Op op) {
    finishBefore(op);
    out.push_back(std::move(op));
  }

  /// Finishes the started collectives that must be done before the op.
  void finishBefore(const Op& op) {
    for (size_t i = 0; i < underway.size();)
      if (depend(underway[i].collective, op))
        finish(underway.begin() + long(i));
      else
        ++i;
  }

  void finish(std::vector<Begun>::iterator begun) {
    const auto [collective, start] = *std::move(begun);
    underway.erase(begun);
    double hidden = 0;
    for (size_t i = start + 1; i < out.size(); ++i)
      hidden += workOf(out[i]);
    const bool isExchange = collective.kind == OpKind::AllToAll;
    if (hidden < secondsOf(collective) *
                     (isExchange ? leastHiddenOfExchange : leastHidden))
      return;
    out[start] = halves.start(collective);
    out.push_back(halves.done(collective));
  }

  /// The seconds that an op computes in a run of its function; 0 for a
  /// collective or an op that only some runs have.
  double workOf(const Op& op) const {
    const std::string& when = op.attributes.string("when");
    const bool isInAll = when.empty() || when == "later";
    return isInAll && !ops::traitsOf(op.kind).isCollective ? secondsOf(op) : 0;
  }

  /// A collective is split if at least this fraction of its time is hidden.
  /// A split exchange takes no other pass over memory.
  static constexpr double leastHidden = 0.5, leastHiddenOfExchange = 0.1;

  ir::Module& program;
  CollectiveHalves halves;
  cost::Machine machine;
  cost::Kernels kernels;
  cost::Collectives collectives;
  std::function<double(const Op&)> roofline;
  bool exchangesFar = false;    // the current function
  std::set<int> exchangesAhead; // layers with exchanges that have not begun
  std::unordered_map<ValueId, Extent> extents; // by member or view
  std::deque<Op> queue;                        // waiting matmuls
  std::vector<Begun> underway;
  std::vector<Op> out;
};

} // namespace

void overlapMatmuls(ir::Module& program, const recipe::Recipe& recipe) {
  MatmulOverlap(program, recipe).run();
}

} // namespace recipec::passes
