// 1. Gradients: take a region's reduce_scatter out of `update`. It starts in
//    the function that adds to the gradients, behind the last op that does, and
//    is done before that of the next region starts, or with the function: one
//    is on its way at a time. Where the function runs several times, both
//    halves have a part in its last run alone. A region whose gradients are
//    summed in another type, over stages, or in several functions stays as it
//    is.
// 2. Parameters: find the op of the forward pass that reads a region first.
//    Behind the first layer the region is gathered there, in its place, in the
//    first run: the all_gather starts two layers ahead and is done before that
//    op, and what `begin` makes of the region in 8 bits is made then. So it is
//    where the loss is evaluated, perhaps before the next forward pass. A
//    region that is gathered in 8 bits is gathered by `begin`, and so for the
//    loss.
// 3. The other regions' all_gathers each start in `update`, behind the op that
//    makes the rank's part, and are done with it.
// What is no matrix, or of an adapter, is exchanged as before.

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

  /// nullopt when no function, or more than one, writes.
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

  /// The ops of the forward pass before an op that reads a region.
  struct Early {
    Op gather;
    std::vector<Op> made; // computed from the region
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

  /// The first reader in the functions of that kind; nullopt when more than one
  /// of them reads the values.
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

  /// Whether a whole layer is computed before the reader, to overlap the
  /// all-gather.
  bool isBehindLayer(Place reader) const {
    const std::vector<Op>& ops = program.functions[reader.function].ops;
    const auto first =
        std::ranges::find_if(ops, [](const Op& op) { return op.layer >= 0; });
    return first - ops.begin() < long(reader.op) &&
           first->layer != ops[reader.op].layer;
  }

  /// Moves the ops that read the values out of `begin`.
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
    std::vector<std::pair<size_t, std::vector<Op>>> layers; // by the first op
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

  /// Adds ops of the first run.
  void appendFirst(const std::vector<Op>& ops, int layer,
                   std::vector<Op>& out) const {
    for (const Op& op : ops) {
      out.push_back(inRun("first", op));
      out.back().layer = layer;
    }
  }

  /// The halves of an in-place all-gather.
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
  /// The op that writes last and the one that reads first, by value and
  /// function.
  std::unordered_map<ValueId, std::map<size_t, size_t>> writers, readers;
  /// By function and by the op after which they start.
  std::map<size_t, std::multimap<size_t, Op>> moved;
  /// By function and by the op before which they are done.
  std::map<size_t, std::multimap<size_t, Early>> early;
};

} // namespace

void overlapUpdate(ir::Module& program, int64_t microBatches) {
  if (ir::findFunction(program, "update"))
    UpdateOverlap(program, microBatches).run();
}

} // namespace recipec::passes
