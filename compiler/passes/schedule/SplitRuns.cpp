// 1. Find which runs a function's ops tell apart: the first from the later ones
//    (`when` is `first` or `later`), the last from those before (`last`).
// 2. Go through the steps of each schedule. A step that runs such a function
//    runs a variant of it instead: the function with the ops that have a part
//    in this run. A function that has one variant alone keeps its name.
// 3. Put the variants in the function's place, in the order of their first run.

#include "compiler/passes/schedule/SplitRuns.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace recipec::passes {
namespace {

using ir::Function;
using ir::Op;
using ir::ScheduleStep;

/// Which runs of its function in a schedule a variant is for, as far as ops
/// tell them apart.
struct Runs {
  bool isFirst = false, isLast = false;
  bool operator==(const Runs&) const = default;
};

bool hasOps(const Function& function, std::string_view when) {
  return std::ranges::any_of(function.ops, [&](const Op& op) {
    return op.attributes.string("when") == when;
  });
}

bool takesPart(const Op& op, Runs runs) {
  const std::string& when = op.attributes.string("when");
  return when.empty() || (when == "first" && runs.isFirst) ||
         (when == "later" && !runs.isFirst) || (when == "last" && runs.isLast);
}

/// A function and the runs that it is split by, in the order of the schedules.
class Split {
public:
  explicit Split(const Function& function)
      : function(function),
        tellsFirst(hasOps(function, "first") || hasOps(function, "later")),
        tellsLast(hasOps(function, "last")) {}

  /// Of a function whose runs are all alike there is nothing to split.
  bool isNeeded() const { return tellsFirst || tellsLast; }

  /// The number of the variant for a run.
  size_t variantOf(bool isFirst, bool isLast) {
    const Runs wanted{tellsFirst && isFirst, tellsLast && isLast};
    const auto found = std::ranges::find(variants, wanted);
    const size_t number = size_t(found - variants.begin());
    if (found == variants.end())
      variants.push_back(wanted);
    return number;
  }

  std::string nameOf(size_t variant) const {
    if (variants.size() == 1)
      return function.name;
    const Runs& runs = variants[variant];
    return function.name + (runs.isFirst ? "_first" : "") +
           (runs.isLast ? "_last" : "");
  }

  void appendTo(std::vector<Function>& functions) const {
    for (size_t i = 0; i < variants.size(); ++i) {
      Function& made = functions.emplace_back();
      made.name = nameOf(i);
      made.chunk = function.chunk;
      for (const Op& op : function.ops)
        if (takesPart(op, variants[i])) {
          made.ops.push_back(op);
          made.ops.back().attributes.erase("when");
        }
    }
  }

private:
  const Function& function;
  bool tellsFirst, tellsLast;
  std::vector<Runs> variants;
};

class RunSplitter {
public:
  explicit RunSplitter(ir::Module& stage) : stage(stage) {
    for (const Function& function : stage.functions)
      if (Split split(function); split.isNeeded())
        splits.emplace(function.name, std::move(split));
  }

  void run() {
    for (ir::Schedule& schedule : stage.schedules)
      findVariants(schedule);
    for (const auto& [step, variant] : variants)
      step->function = splits.at(step->function).nameOf(variant);
    std::vector<Function> functions;
    for (Function& function : stage.functions)
      if (const auto split = splits.find(function.name); split != splits.end())
        split->second.appendTo(functions);
      else
        functions.push_back(std::move(function));
    stage.functions = std::move(functions);
  }

private:
  void findVariants(ir::Schedule& schedule) {
    std::map<std::string, std::vector<ScheduleStep*>> runs;
    for (ScheduleStep& step : schedule.steps)
      if (splits.contains(step.function))
        runs[step.function].push_back(&step);
    for (const auto& [function, steps] : runs)
      for (ScheduleStep* step : steps)
        variants.emplace_back(
            step, splits.at(function).variantOf(step == steps.front(),
                                                step == steps.back()));
  }

  ir::Module& stage;
  std::map<std::string, Split> splits;                    // by function
  std::vector<std::pair<ScheduleStep*, size_t>> variants; // of steps
};

} // namespace

void splitRuns(ir::Module& stage) {
  RunSplitter(stage).run();
}

} // namespace recipec::passes
