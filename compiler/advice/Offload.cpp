// Offloading over a slow host link. The copies of a layer overlap the
// computation of the next layer; if they take longer, the computation waits.
// The copies of a function run one after another on the link to the host, as in
// cost/Replay.

#include "compiler/advice/Rules.h"
#include "compiler/recipe/Format.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>

namespace recipec::advice {
namespace {

/// A smaller fraction of the step is not worth a change.
constexpr double smallWait = 0.05;
/// The fraction of a step that recomputing whole layers takes: a second forward
/// pass, besides a forward pass and a backward pass of twice its FLOPs.
constexpr double shareOfFullRecompute = 0.25;

/// The forward and backward passes of a step, and their copies.
struct Copies {
  double seconds = 0; // of computation and waiting
  double waiting = 0; // for copies
  double bytes = 0;
};

void addRun(const ir::Module& stage, const ir::Function& function, double times,
            const std::function<double(const ir::Op&)>& secondsOf,
            double bandwidth, Copies& sum) {
  double seconds = 0, link = 0;
  std::map<ir::ValueId, double> arrivals;
  for (const ir::Op& op : function.ops) {
    const ops::Traits& traits = ops::traitsOf(op.kind);
    if (op.kind == ir::OpKind::CopyBegin) {
      const double bytes = double(ir::localBytes(stage, op.results[0]));
      link = std::max(link, seconds) + bytes / bandwidth;
      arrivals[op.results[0]] = link;
      sum.bytes += times * bytes;
    } else if (op.kind == ir::OpKind::CopyEnd) {
      const double arrival = std::max(seconds, arrivals.at(op.results[0]));
      sum.waiting += times * (arrival - seconds);
      seconds = arrival;
    } else if (!traits.starts && !traits.finishes) {
      seconds += secondsOf(op);
    }
  }
  sum.seconds += times * seconds;
}

/// The copies of the stage that waits longest for them.
Copies mostCopies(const Facts& facts) {
  Copies most;
  const double bandwidth =
      facts.recipe().real("cluster.hardware.host_bandwidth");
  for (const ir::Module& stage : facts.stages()) {
    const auto seconds = facts.secondsIn(stage);
    Copies copies;
    const std::map<std::string, int> runs = Facts::runsOf(stage);
    for (const ir::Function& function : stage.functions)
      if (const auto found = runs.find(function.name); found != runs.end())
        addRun(stage, function, found->second, seconds, bandwidth, copies);
    if (copies.waiting >= most.waiting)
      most = copies;
  }
  return most;
}

/// Whether the device has enough memory for the offloaded activations.
bool hasRoom(const Facts& facts) {
  const auto& stages = facts.estimate().stages;
  return std::all_of(
      stages.begin(), stages.end(), [](const cost::MemoryTable& memory) {
        return memory.total + memory.offloaded <= memory.capacity;
      });
}

} // namespace

void adviseOffload(const Facts& facts, diag::Engine& engine) {
  const recipe::Recipe& recipe = facts.recipe();
  if (recipe.integer("memory.offload_layers") == 0)
    return;
  const Copies copies = mostCopies(facts);
  if (copies.waiting < smallWait * copies.seconds)
    return;
  auto builder = engine.report(
      diag::Kind::SlowOffload, facts.placeOf({"memory.offload_layers"}),
      "the host link is too slow for `offload_layers` = " +
          std::to_string(recipe.integer("memory.offload_layers")) + ": " +
          recipe::formatBytes(int64_t(copies.bytes)) + " a step at " +
          rateText(recipe.real("cluster.hardware.host_bandwidth")) +
          " make a rank wait in " + percent(copies.waiting / copies.seconds) +
          " of it");
  builder.note("NVIDIA's guide: offloading all layers can become a bottleneck, "
               "and is balanced with recomputation (Megatron Bridge, "
               "performance guide)");
  if (hasRoom(facts))
    facts.propose(builder, "memory", {{"offload_layers", "0"}},
                  "the device has room for the activations: ", "");
  else if (recipe.string("memory.recompute") == "none" &&
           copies.waiting > shareOfFullRecompute * copies.seconds)
    facts.propose(builder, "memory", {{"recompute", "\"full\""}},
                  "computing the layers again costs less: ", "");
  else
    builder.help("offload fewer layers, or compute more of them again by "
                 "`recompute`: what is computed again is not copied");
}

} // namespace recipec::advice
