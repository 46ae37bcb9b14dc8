// 1. List the gathers of parameters of each function, those that a layer has
//    first need of together.
// 2. The first ones start with the function, the next ones behind the first
//    that is done of those before. Each is done where it stood: the parameters
//    of two layers, or buckets, have memory at a time.
// 3. A sum of gradients starts where it stood. It is done, and added to what a
//    rank keeps, before those of the next layer start, or with the function.

#include "compiler/passes/distributed/Overlap.h"

#include "compiler/passes/distributed/CollectiveHalves.h"
#include "runtime/ops/OpKind.h"

#include <set>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Overlapping {
public:
  explicit Overlapping(ir::Module& program)
      : program(program), halves(program) {
    for (const ir::Region& region : program.regions) {
      if (region.param == ValueId::none)
        params.insert(region.sentPart());
      if (region.gradient == ValueId::none)
        gradients.insert(region.gradientPart);
    }
  }

  void run() {
    for (ir::Function& function : program.functions)
      run(function);
  }

private:
  void run(ir::Function& function) {
    std::vector<Op> ops = std::move(function.ops);
    listGathers(ops);
    if (!layers.empty())
      startLayer();
    for (size_t i = 0; i < ops.size(); ++i) {
      if (isGather(ops[i])) {
        finishGather(ops[i]);
      } else if (size_t rest = restOfSum(ops, i)) {
        startSum(ops, i, rest);
        i += rest;
      } else {
        out.push_back(std::move(ops[i]));
      }
    }
    finishSums();
    function.ops = std::exchange(out, {});
  }

  // ---- parameters

  bool isGather(const Op& op) const {
    return op.kind == OpKind::AllGather && params.contains(op.operands[0]);
  }

  void listGathers(const std::vector<Op>& ops) {
    layers.clear();
    nextLayer = 0;
    for (const Op& op : ops) {
      if (!isGather(op))
        continue;
      if (layers.empty() || layers.back().back().layer != op.layer)
        layers.emplace_back();
      layers.back().push_back(op);
    }
  }

  /// Of the next layer that has not started.
  void startLayer() {
    for (const Op& gather : layers[nextLayer])
      out.push_back(halves.start(gather));
    ++nextLayer;
  }

  void finishGather(const Op& gather) {
    out.push_back(halves.done(gather));
    bool isLast = nextLayer == layers.size();
    if (!isLast && gather.results[0] == layers[nextLayer - 1][0].results[0])
      startLayer();
  }

  // ---- gradients

  /// How many ops behind one that scatters gradients cast its result and add it
  /// to what the rank keeps; 0 where the op is another one.
  size_t restOfSum(const std::vector<Op>& ops, size_t scatter) const {
    if (ops[scatter].kind != OpKind::ReduceScatter)
      return 0;
    size_t add = scatter + 1;
    if (add < ops.size() && ops[add].kind == OpKind::Cast)
      ++add;
    bool isSum = add < ops.size() && ops[add].kind == OpKind::Add &&
                 gradients.contains(ops[add].results[0]) &&
                 ops[add].operands[1] == ops[add - 1].results[0];
    return isSum ? add - scatter : 0;
  }

  void startSum(const std::vector<Op>& ops, size_t first, size_t rest) {
    const Op& scatter = ops[first];
    if (!pending.empty() && pending.back().layer != scatter.layer)
      finishSums();
    out.push_back(halves.start(scatter));
    pending.push_back(halves.done(scatter));
    pending.insert(pending.end(), ops.begin() + long(first) + 1,
                   ops.begin() + long(first + rest) + 1);
  }

  void finishSums() {
    for (Op& op : pending)
      out.push_back(std::move(op));
    pending.clear();
  }

  ir::Module& program;
  CollectiveHalves halves;
  std::set<ValueId> params; // kept in parts alone
  std::set<ValueId> gradients;
  std::vector<std::vector<Op>> layers; // the gathers of a function
  size_t nextLayer = 0;                // that starts
  std::vector<Op> pending;             // the rest of sums
  std::vector<Op> out;
};

} // namespace

bool overlaps(const recipe::Recipe& recipe) {
  const recipe::Value& overlap = recipe.at("comm.overlap");
  return overlap.isAuto() || std::get<bool>(overlap.data);
}

void overlap(ir::Module& program) {
  Overlapping(program).run();
}

} // namespace recipec::passes
