// 1. List the parameter all-gathers of each function, grouped by the layer that
//    first needs them.
// 2. Start the first group at the beginning of the function, and each next
//    group after the first all-gather of the previous group is done. Each
//    all-gather is done at its original position, so the parameters of two
//    layers (or buckets) are in memory at a time.
// 3. Start a gradient reduction at its original position. Before the reductions
//    of the next layer start, or at the end of the function, complete it and
//    add its result to the rank's shard.

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
      if (region.param == ValueId::none && region.narrow == ValueId::none)
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

  /// Starts the all-gathers of the next layer.
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

  /// The number of ops after a gradient's reduce-scatter that cast its result
  /// and add it to the rank's shard; 0 for any other op.
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
  std::set<ValueId> params; // kept only as shards
  std::set<ValueId> gradients;
  std::vector<std::vector<Op>> layers; // all-gathers of a function
  size_t nextLayer = 0;                // index of the next group to start
  std::vector<Op> pending;             // ops that finish the reductions
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
