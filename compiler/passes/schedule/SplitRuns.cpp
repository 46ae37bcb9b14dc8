// 1. Find the functions whose runs differ: an op belongs only to the first run,
//    only to the later runs, or only to the last run (`when` is `first`,
//    `later` or `last`).
// 2. Go through the steps of each schedule. A step that runs such a function
//    runs a variant of it instead, with the ops of this run. A function with a
//    single variant keeps its name.
// 3. Replace the function by its variants, in the order of their first run.

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

/// The runs that use a variant: the first run, the last run, both or the
/// others. Always false where no op distinguishes these runs.
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

/// A function and its variants, in the order in which the schedules need them.
class Split {
public:
  explicit Split(const Function& function)
      : function(function),
        tellsFirst(hasOps(function, "first") || hasOps(function, "later")),
        tellsLast(hasOps(function, "last")) {}

  /// Whether the function has to be split: its runs differ.
  bool isNeeded() const { return tellsFirst || tellsLast; }

  /// The index of the variant for a run.
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
  std::map<std::string, Split> splits; // by function
  /// The steps that run a split function, and the index of their variant.
  std::vector<std::pair<ScheduleStep*, size_t>> variants;
};

} // namespace

void splitRuns(ir::Module& stage) {
  RunSplitter(stage).run();
}

} // namespace recipec::passes
