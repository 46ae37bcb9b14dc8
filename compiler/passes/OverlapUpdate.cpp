// 1. Gradients: take a region's reduce_scatter out of `update`. It starts in
//    the function that adds to the gradients, behind the last op that does, and
//    is done before that of the next region starts, or with the function: one
//    is on its way at a time. Where the function runs several times, both
//    halves have a part in its last run alone. A region whose gradients are
//    summed in another type, over stages, or in several functions stays as it
//    is.
// 2. Parameters: the all_gather of a region, in its place, starts behind the op
//    that makes the rank's part. All are done with the function.

#include "compiler/passes/OverlapUpdate.h"

#include "compiler/passes/CollectiveHalves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class UpdateOverlap {
public:
  UpdateOverlap(ir::Module& program, int64_t microBatches)
      : program(program), update(*ir::findFunction(program, "update")),
        microBatches(microBatches), halves(program) {}

  void run() {
    for (const ir::Region& region : program.regions)
      takeScatter(region);
    for (auto& [function, scatters] : moved)
      startScatters(program.functions[function], scatters);
    startGathers();
  }

private:
  // ---- gradients

  /// Behind which op of a function the last part of a gradient is there.
  struct Place {
    size_t function = 0, op = 0;
  };

  void takeScatter(const ir::Region& region) {
    const auto scatter = std::ranges::find_if(update.ops, [&](const Op& op) {
      return op.kind == OpKind::ReduceScatter &&
             op.operands[0] == region.gradient &&
             region.gradient != ValueId::none;
    });
    const bool isOfStages = !program[region.params.front()].sharers.empty();
    if (scatter == update.ops.end() || isOfStages)
      return;
    const std::optional<Place> last = lastWriter(region);
    if (!last)
      return;
    moved[last->function].emplace(last->op, std::move(*scatter));
    update.ops.erase(scatter);
  }

  /// None where several functions write.
  std::optional<Place> lastWriter(const ir::Region& region) const {
    std::optional<Place> last;
    for (size_t f = 0; f < program.functions.size(); ++f) {
      const std::vector<Op>& ops = program.functions[f].ops;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].kind == OpKind::Zero || !writesMember(ops[i], region))
          continue;
        if (last && last->function != f)
          return std::nullopt;
        last = {f, i};
      }
    }
    return last;
  }

  bool writesMember(const Op& op, const ir::Region& region) const {
    return std::ranges::any_of(region.params, [&](ir::ParamId param) {
      return std::ranges::find(op.results, program[param].gradient) !=
             op.results.end();
    });
  }

  void startScatters(ir::Function& function,
                     std::multimap<size_t, Op>& scatters) {
    std::vector<Op> out;
    const Op* underway = nullptr;
    auto finish = [&] {
      if (underway)
        out.push_back(inLastRun(halves.done(*underway)));
    };
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const int layer = function.ops[i].layer;
      out.push_back(std::move(function.ops[i]));
      const auto [begin, end] = scatters.equal_range(i);
      for (auto each = begin; each != end; ++each) {
        finish();
        each->second.layer = layer;
        underway = &each->second;
        out.push_back(inLastRun(halves.start(*underway)));
      }
    }
    finish();
    function.ops = std::move(out);
  }

  Op inLastRun(Op op) const {
    if (microBatches > 1)
      op.attributes["when"] = std::string("last");
    return op;
  }

  // ---- parameters

  void startGathers() {
    std::map<ValueId, Op> gathers; // by the part
    for (const Op& op : update.ops)
      if (op.kind == OpKind::AllGather)
        gathers.emplace(op.operands[0], op);
    std::vector<Op> out, done;
    std::set<ValueId> started;
    for (Op& op : update.ops) {
      if (op.kind == OpKind::AllGather && started.contains(op.operands[0]))
        continue;
      const bool isStep = op.kind == OpKind::AdamW;
      const auto gather = isStep ? gathers.find(op.results[0]) : gathers.end();
      out.push_back(std::move(op));
      if (gather == gathers.end())
        continue;
      started.insert(gather->first);
      Op half = gather->second;
      half.kind = OpKind::AllGatherStart;
      out.push_back(half);
      half.kind = OpKind::AllGatherDone;
      half.operands = {half.results[0], half.operands[0]};
      done.push_back(std::move(half));
    }
    std::ranges::move(done, std::back_inserter(out));
    update.ops = std::move(out);
  }

  ir::Module& program;
  ir::Function& update;
  int64_t microBatches;
  CollectiveHalves halves;
  /// By function and by the op behind which they start.
  std::map<size_t, std::multimap<size_t, Op>> moved;
};

} // namespace

void overlapUpdate(ir::Module& program, int64_t microBatches) {
  if (ir::findFunction(program, "update"))
    UpdateOverlap(program, microBatches).run();
}

} // namespace recipec::passes
