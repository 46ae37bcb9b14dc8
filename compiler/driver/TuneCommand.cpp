// `recipec tune FILE`: searches for the fastest layout that fits.
//
// 1. Compile the recipe as written. It is not an error if it does not fit.
// 2. Search over layouts, on all cores.
// 3. Print the best layouts with the settings that change. If none fits, print
//    how much memory the best one lacks.

#include "compiler/driver/Commands.h"

#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/Terminal.h"
#include "compiler/driver/TrialPool.h"
#include "compiler/driver/TuneReport.h"
#include "compiler/recipe/Task.h"
#include "compiler/search/Search.h"
#include "runtime/cli/Options.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ostream>

namespace recipec::driver {
namespace {

/// A line on a terminal that each report overwrites.
class ProgressLine {
public:
  explicit ProgressLine(const Invocation& invocation)
      : err(invocation.err), isShown(renderOptions(invocation).wraps) {}
  ~ProgressLine() {
    if (isShown)
      err << "\r\033[K" << std::flush;
  }

  void show(const search::Progress& progress) {
    if (!isShown)
      return;
    char text[128];
    std::snprintf(text, sizeof text, "%3.0f %%, %zu compilations",
                  100 * progress.done, progress.compiled);
    err << "\r\033[Ksearching: " << text;
    if (progress.bestSeconds > 0) {
      std::snprintf(text, sizeof text, ", best %.4g s a step",
                    progress.bestSeconds);
      err << text;
    }
    err << std::flush;
  }

private:
  std::ostream& err;
  bool isShown;
};

void reportServing(Session& session, const recipe::Recipe& recipe) {
  session.engine
      .report(diag::Kind::NotSupported, recipe.at("task").origin.range,
              "`tune` searches by the time of a training step, and `task` is "
              "\"" +
                  recipe.string("task") + "\"")
      .help("`recipec estimate` bounds the speed of a server");
}

void reportNothingFits(Session& session, const recipe::Recipe& recipe,
                       const search::Trial& nearest) {
  const cost::MemoryTable& memory = nearest.outcome.memory;
  auto builder = session.engine.report(
      diag::Kind::OutOfMemory, recipe.at("cluster.ranks").origin.range,
      "no layout of " + std::to_string(recipe.integer("cluster.ranks")) +
          " ranks that the search found fits: the least takes " +
          formatBytes(memory.total) + " on each rank, " +
          formatBytes(memory.total - memory.capacity) + " more than `" +
          recipe.string("cluster.hardware.name") + "` has");
  builder.note("its largest parts are " + largestCategories(memory, {}));
  if (!nearest.settings.empty())
    builder.note("its settings are `" + setArguments(nearest.settings) + "`");
  builder.help("raise `cluster.ranks`, shorten `data.sequence`, or take an "
               "adapter or a device with more memory");
}

TuneReport searchLayouts(Session& session, const Compilation& compilation,
                         const Invocation& invocation) {
  TrialPool pool(session);
  ProgressLine line(invocation);
  const search::Outcome written = outcomeOf(compilation);
  search::Result found = search::search(
      compilation.recipe, written,
      [&](const std::vector<search::Settings>& trials) {
        return pool.compile(trials);
      },
      [&](const search::Progress& progress) { line.show(progress); });
  return {compilation.recipe, session.sources, written, std::move(found),
          invocation.top};
}

int runTune(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (!session.open(invocation.sets) || !session.selectOne())
    return finish(session, invocation);
  const auto compilation =
      compile(session, session.engine, {}, Verification::none);
  if (compilation && recipe::serves(compilation->recipe))
    reportServing(session, compilation->recipe);
  if (!compilation || session.engine.hasErrors())
    return finish(session, invocation);
  const TuneReport report = searchLayouts(session, *compilation, invocation);
  if (report.found.nearest)
    reportNothingFits(session, compilation->recipe, *report.found.nearest);
  else if (invocation.json)
    invocation.out << tuneJson(report).dump(2) << '\n';
  else
    invocation.out << tuneText(report);
  return finish(session, invocation);
}

} // namespace

cli::Command tuneCommand(Invocation& invocation) {
  return {
      .name = "tune",
      .synopsis = "FILE[:NAME] [options]",
      .summary = "search for the fastest layout that fits",
      .details =
          "Varies dp, cp, tp, pp, vp, ep, etp, the micro-batch, what is "
          "sharded, recomputed and offloaded; keeps the ranks, the global "
          "batch and the sequence. Prints the settings to change, with the "
          "time and the memory of before and after. Every printed layout has "
          "been compiled, and fits.",
      .options = {cli::number("--top", "N",
                              "print the N fastest layouts, 3 if not given", 1,
                              invocation.top),
                  setOption(invocation), jsonOption(invocation),
                  maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .run = [&invocation] { return runTune(invocation); }};
}

} // namespace recipec::driver
