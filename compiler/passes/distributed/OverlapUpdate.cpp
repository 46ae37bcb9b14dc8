// 1. Gradients: move a region's reduce_scatter out of `update` into the
//    function that adds to the region's gradients. It starts after the last op
//    that adds to them, and is done before the reduce_scatter of the next
//    region starts, or at the end of the function, so that one is in flight at
//    a time. If there are several micro-batches, start and done op run only in
//    the function's last run. A reduce_scatter stays in `update` if its
//    gradients are cast to another type or summed over stages, or if several
//    functions add to them.
// 2. Parameters: find the first op of the forward pass that reads a region. If
//    a whole layer precedes it, move the region's all_gather from `update` to
//    the first run of the forward pass: it starts up to two layers ahead and is
//    done before that op. The fp8 copies and transposes that `begin` computes
//    from the region are then computed after the all_gather. The evaluation may
//    run before the next forward pass, so its first run gathers the region as
//    well. The all_gather of a region in fp8 moves from `begin` in the same
//    way; the evaluation gathers such regions anyway (GatherInFp8.h).
// 3. The other all_gathers of `update` stay there. Each starts after the op
//    that updates the rank's shard, and is done at the end.
//
// Regions without weight decay, such as those of norms, and regions of adapters
// are communicated as before.

#include "compiler/passes/distributed/OverlapUpdate.h"

#include "compiler/passes/distributed/CollectiveHalves.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

/// The number of layers ahead of the current one whose parameters are gathered.
constexpr size_t layersAhead = 2;

class UpdateOverlap {
public:
  UpdateOverlap(ir::Module& program, int64_t microBatches)
      : program(program), update(*ir::findFunction(program, "update")),
        microBatches(microBatches), halves(program) {}

  void run() {
    indexWriters();
    for (const ir::Region& region : program.regions)
      if (isLarge(region))
        takeScatter(region);
    for (auto& [function, scatters] : moved)
      startScatters(program.functions[function], scatters);
    indexReaders();
    for (const ir::Region& region : program.regions)
      if (isLarge(region))
        takeGather(region);
    for (const auto& [function, gathers] : early)
      gatherBefore(program.functions[function], gathers);
  }

private:
  /// Whether the region holds matrices of the model: those have weight decay.
  /// Smaller collectives take no longer than their launch. Between hosts they
  /// would also need connections of their own when other ranks share them.
  bool isLarge(const ir::Region& region) const {
    const ir::Param& param = program[region.params.front()];
    return param.decay && !param.adapter;
  }

  // ---- gradients

  /// The position of an op: function and index.
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

  /// Finds the last op of each function that writes a value.
  void indexWriters() {
    for (size_t f = 0; f < program.functions.size(); ++f) {
      const std::vector<Op>& ops = program.functions[f].ops;
      for (size_t i = 0; i < ops.size(); ++i)
        if (ops[i].kind != OpKind::Zero)
          for (ValueId result : ops[i].results)
            writers[result][f] = i;
    }
  }

  /// The last op that writes a gradient of the region; nullopt when no function
  /// or more than one writes them.
  std::optional<Place> lastWriter(const ir::Region& region) const {
    std::optional<Place> last;
    for (ir::ParamId param : region.params) {
      const auto found = writers.find(program[param].gradient);
      if (found == writers.end())
        continue;
      for (const auto& [function, op] : found->second) {
        if (last && last->function != function)
          return std::nullopt;
        last = {function, std::max(last ? last->op : 0, op)};
      }
    }
    return last;
  }

  void startScatters(ir::Function& function,
                     std::multimap<size_t, Op>& scatters) {
    std::vector<Op> out;
    Op* underway = nullptr;
    const auto finish = [&](int layer) {
      if (!underway)
        return;
      underway->layer = layer;
      out.push_back(inRun("last", halves.done(*underway)));
    };
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const int layer = function.ops[i].layer;
      out.push_back(std::move(function.ops[i]));
      const auto [begin, end] = scatters.equal_range(i);
      for (auto each = begin; each != end; ++each) {
        finish(layer);
        each->second.layer = layer;
        underway = &each->second;
        out.push_back(inRun("last", halves.start(each->second)));
      }
    }
    finish(out.back().layer);
    function.ops = std::move(out);
  }

  Op inRun(const char* when, Op op) const {
    if (microBatches > 1)
      op.attributes["when"] = std::string(when);
    return op;
  }

  // ---- parameters

  /// The all-gather of a region and the ops that follow it, for the forward
  /// pass or the evaluation.
  struct Early {
    Op gather;
    std::vector<Op> made; // compute values from the gathered region
  };

  void takeGather(const ir::Region& region) {
    const bool isNarrow = region.narrow != ValueId::none;
    const ValueId whole = isNarrow ? region.narrow : region.param;
    std::vector<Op>& ops =
        (isNarrow ? *ir::findFunction(program, "begin") : update).ops;
    const auto gather = std::ranges::find_if(ops, [&](const Op& op) {
      return op.kind == OpKind::AllGather && op.results[0] == whole;
    });
    if (gather == ops.end())
      return;
    const std::set<ValueId> values = valuesOf(region);
    const std::optional<Place> reader = firstReader("forward", values);
    const bool isEarly =
        reader && isBehindLayer(*reader) && !isReadAtFirst(values);
    if (isNarrow && !isEarly)
      return;
    const Op op = std::move(*gather);
    ops.erase(gather);
    if (!isEarly)
      return startGather(op);
    if (const auto other = firstReader("evaluate", values); other && !isNarrow)
      early[other->function].emplace(other->op, Early{op, {}});
    early[reader->function].emplace(reader->op, Early{op, takeMakers(values)});
  }

  /// The parameters of a region and the values that `begin` computes from them.
  std::set<ValueId> valuesOf(const ir::Region& region) const {
    std::set<ValueId> values(region.narrowParams.begin(),
                             region.narrowParams.end());
    for (ir::ParamId param : region.params)
      values.insert(program[param].value);
    for (const Op& op : ir::findFunction(program, "begin")->ops)
      if (reads(op, values))
        values.insert(op.results.begin(), op.results.end());
    values.erase(ValueId::none);
    return values;
  }

  /// Whether an op that must stay in `begin` reads the values.
  bool isReadAtFirst(const std::set<ValueId>& values) const {
    return std::ranges::any_of(
        ir::findFunction(program, "begin")->ops, [&](const Op& op) {
          return op.kind != OpKind::Quantize && op.kind != OpKind::Transpose &&
                 reads(op, values);
        });
  }

  static bool reads(const Op& op, const std::set<ValueId>& values) {
    return std::ranges::any_of(
        op.operands, [&](ValueId value) { return values.contains(value); });
  }

  /// Finds the first op of each function that reads a value.
  void indexReaders() {
    for (size_t f = 0; f < program.functions.size(); ++f) {
      const std::vector<Op>& ops = program.functions[f].ops;
      for (size_t i = 0; i < ops.size(); ++i)
        for (ValueId operand : ops[i].operands)
          readers[operand].try_emplace(f, i);
    }
  }

  /// The first op that reads one of the values, in the functions whose name
  /// begins with `kind`; nullopt when none or more than one of these functions
  /// reads them.
  std::optional<Place> firstReader(std::string_view kind,
                                   const std::set<ValueId>& values) const {
    std::optional<Place> first;
    for (ValueId value : values) {
      const auto found = readers.find(value);
      if (found == readers.end())
        continue;
      for (const auto& [function, op] : found->second) {
        if (!program.functions[function].name.starts_with(kind))
          continue;
        if (first && first->function != function)
          return std::nullopt;
        first = {function, first ? std::min(first->op, op) : op};
      }
    }
    return first;
  }

  /// Whether a whole layer is computed before the reader, so that the
  /// all-gather can overlap it.
  bool isBehindLayer(Place reader) const {
    const std::vector<Op>& ops = program.functions[reader.function].ops;
    const auto first =
        std::ranges::find_if(ops, [](const Op& op) { return op.layer >= 0; });
    return first - ops.begin() < long(reader.op) &&
           first->layer != ops[reader.op].layer;
  }

  /// Removes the ops that read one of the values from `begin`, and returns
  /// them.
  std::vector<Op> takeMakers(const std::set<ValueId>& values) {
    std::vector<Op> makers;
    std::erase_if(ir::findFunction(program, "begin")->ops, [&](Op& op) {
      if (!reads(op, values))
        return false;
      makers.push_back(std::move(op));
      return true;
    });
    return makers;
  }

  void gatherBefore(ir::Function& function,
                    const std::multimap<size_t, Early>& gathers) const {
    // All-gathers of a layer, with the index of their first reader.
    std::vector<std::pair<size_t, std::vector<Op>>> layers;
    for (const auto& [reader, each] : gathers) {
      const auto layerOf = [&](size_t op) { return function.ops[op].layer; };
      if (layers.empty() || layerOf(layers.back().first) != layerOf(reader))
        layers.push_back({reader, {}});
      layers.back().second.push_back(inPlace(each.gather).first);
    }
    std::vector<Op> out;
    size_t started = 0, reached = 0;
    const auto startUpTo = [&](size_t end, int layer) {
      for (; started < std::min(end, layers.size()); ++started)
        appendFirst(layers[started].second, layer, out);
    };
    startUpTo(layersAhead, function.ops.front().layer);
    for (size_t i = 0; i < function.ops.size(); ++i) {
      const int layer = function.ops[i].layer;
      const auto [begin, end] = gathers.equal_range(i);
      for (auto each = begin; each != end; ++each) {
        appendFirst({inPlace(each->second.gather).second}, layer, out);
        appendFirst(each->second.made, layer, out);
      }
      if (reached < layers.size() && layers[reached].first == i)
        startUpTo(++reached + layersAhead, layer);
      out.push_back(std::move(function.ops[i]));
    }
    function.ops = std::move(out);
  }

  /// Appends ops that only the function's first run has.
  void appendFirst(const std::vector<Op>& ops, int layer,
                   std::vector<Op>& out) const {
    for (const Op& op : ops) {
      out.push_back(inRun("first", op));
      out.back().layer = layer;
    }
  }

  /// The start and done op of an in-place all-gather.
  static std::pair<Op, Op> inPlace(const Op& gather) {
    std::pair<Op, Op> halves{gather, gather};
    halves.first.kind = OpKind::AllGatherStart;
    halves.second.kind = OpKind::AllGatherDone;
    halves.second.operands = {gather.results[0], gather.operands[0]};
    return halves;
  }

  /// Starts the all-gather after the op that updates the rank's shard.
  void startGather(const Op& gather) {
    const auto step = std::ranges::find_if(update.ops, [&](const Op& op) {
      return op.kind == OpKind::AdamW && op.results[0] == gather.operands[0];
    });
    auto [start, done] = inPlace(gather);
    update.ops.insert(step + 1, std::move(start));
    update.ops.push_back(std::move(done));
  }

  ir::Module& program;
  ir::Function& update;
  int64_t microBatches;
  CollectiveHalves halves;
  /// By value and function: the last op that writes the value, and the first op
  /// that reads it.
  std::unordered_map<ValueId, std::map<size_t, size_t>> writers, readers;
  /// Reduce-scatters by function and by the op after which they start.
  std::map<size_t, std::multimap<size_t, Op>> moved;
  /// All-gathers by function and by the op before which they are done.
  std::map<size_t, std::multimap<size_t, Early>> early;
};

} // namespace

void overlapUpdate(ir::Module& program, int64_t microBatches) {
  if (ir::findFunction(program, "update"))
    UpdateOverlap(program, microBatches).run();
}

} // namespace recipec::passes
