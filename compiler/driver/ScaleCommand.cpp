// `recipec scale FILE --ranks 8..16384`: predicts the step on growing clusters.
//
// 1. The ranks are the first number and its doubles up to the last one. Data
//    parallelism grows with them; all other degrees are as written.
// 2. Weak scaling: the global batch grows with the ranks from the written one.
//    Strong scaling: it is fixed.
// 3. Compile every point, on all cores. Ranks that are impossible get a line
//    with the reason.

#include "compiler/driver/Commands.h"

#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/ScaleChart.h"
#include "compiler/driver/ScaleReport.h"
#include "compiler/driver/TrialPool.h"
#include "compiler/recipe/Task.h"
#include "runtime/cli/Options.h"

#include <nlohmann/json.hpp>

#include <ostream>

namespace recipec::driver {
namespace {

constexpr int64_t mostRanks = 1'000'000; // of a recipe

/// `8..16384`, or a single number.
cli::Check readRanks(const std::string& text, RankRange& range) {
  const size_t dots = text.find("..");
  const auto first = cli::parseNumber<int64_t>(text.substr(0, dots));
  const auto last = dots == std::string::npos
                        ? first
                        : cli::parseNumber<int64_t>(text.substr(dots + 2));
  if (!first || !last)
    return cli::UsageError{"`--ranks` takes two numbers, not `" + text + "`",
                           "write `--ranks 8..16384`"};
  if (*first < 1 || *last > mostRanks)
    return cli::UsageError{"`--ranks` takes numbers from 1 to " +
                           std::to_string(mostRanks) + ", not `" + text + "`"};
  if (*last < *first)
    return cli::UsageError{"`--ranks` begins with the smaller number, not `" +
                               text + "`",
                           "write `--ranks " + std::to_string(*last) + ".." +
                               std::to_string(*first) + "`"};
  range = {*first, *last};
  return std::nullopt;
}

search::Settings settingsAt(const ScalePoint& point,
                            const recipe::Recipe& recipe) {
  search::Settings settings = {"cluster.ranks=" + std::to_string(point.ranks)};
  const recipe::Origin::Kind kind = recipe.at("parallel.dp").origin.kind;
  if (kind == recipe::Origin::Kind::written ||
      kind == recipe::Origin::Kind::commandLine)
    settings.emplace_back("parallel.dp=auto");
  settings.push_back("batch.global=" + std::to_string(point.globalBatch));
  return settings;
}

/// The points of one kind of scaling, without their outcomes.
std::vector<ScalePoint> pointsOf(const RankRange& range, bool isWeak,
                                 const recipe::Recipe& recipe) {
  const int64_t batch = recipe.integer("batch.global");
  const int64_t written = recipe.integer("cluster.ranks");
  std::vector<ScalePoint> points;
  for (int64_t ranks = range.first; ranks <= range.last; ranks *= 2) {
    ScalePoint& point = points.emplace_back();
    point.ranks = ranks;
    point.isWeak = isWeak;
    point.globalBatch = isWeak ? batch * ranks / written : batch;
    if (isWeak && batch * ranks % written != 0)
      point.reason = std::to_string(batch) + " sequences on " +
                     std::to_string(written) +
                     " ranks are no whole number on " + std::to_string(ranks);
  }
  return points;
}

void compilePoints(Session& session, const recipe::Recipe& recipe,
                   std::vector<ScalePoint>& points) {
  std::vector<search::Settings> trials;
  std::vector<ScalePoint*> compiled;
  for (ScalePoint& point : points)
    if (point.reason.empty()) {
      compiled.push_back(&point);
      trials.push_back(settingsAt(point, recipe));
    }
  const std::vector<search::Outcome> outcomes =
      TrialPool(session).compile(trials);
  for (size_t i = 0; i < compiled.size(); ++i) {
    compiled[i]->outcome = outcomes[i];
    compiled[i]->reason = outcomes[i].reason;
  }
}

ScaleReport scaleOf(Session& session, const recipe::Recipe& recipe,
                    const RankRange& range) {
  ScaleReport report{recipe, pointsOf(range, true, recipe)};
  for (ScalePoint& point : pointsOf(range, false, recipe))
    report.points.push_back(std::move(point));
  compilePoints(session, recipe, report.points);
  report.compareWithFirst();
  return report;
}

void refuseServing(Session& session, const recipe::Recipe& recipe) {
  session.engine
      .report(diag::Kind::NotSupported, recipe.at("task").origin.range,
              "`scale` predicts steps of training, and `task` is \"" +
                  recipe.string("task") + "\"")
      .help("`recipec estimate` bounds the speed of a server");
}

int runScale(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (!session.open(invocation.sets) || !session.selectOne())
    return finish(session, invocation);
  const auto recipe = evaluateRecipe(session, session.engine);
  if (recipe && recipe::serves(*recipe))
    refuseServing(session, *recipe);
  if (!recipe || session.engine.hasErrors())
    return finish(session, invocation);
  const ScaleReport report = scaleOf(session, *recipe, invocation.ranks);
  if (!invocation.svg.empty() &&
      !writeOutput(invocation.svg, scaleChart(report), invocation.err))
    return exitDiagnostics;
  if (invocation.json)
    invocation.out << scaleJson(report).dump(2) << '\n';
  else
    invocation.out << scaleText(report);
  return finish(session, invocation);
}

} // namespace

cli::Command scaleCommand(Invocation& invocation) {
  cli::Option ranks = {.name = "--ranks",
                       .valueName = "FIRST..LAST",
                       .help = "the ranks: FIRST and its doubles up to LAST",
                       .store = [&invocation](const cli::Given& given) {
                         return readRanks(given.value, invocation.ranks);
                       }};
  return {
      .name = "scale",
      .synopsis = "FILE[:NAME] --ranks FIRST..LAST [options]",
      .summary = "predict the step on growing clusters",
      .details =
          "Data parallelism grows with the ranks; all other degrees are as "
          "written. With weak scaling the global batch grows as well, with "
          "strong scaling it is fixed. The efficiency compares the tokens/s "
          "of a rank with those at the fewest ranks.",
      .options = {std::move(ranks),
                  cli::text("--svg", "FILE",
                            "also draw a chart into the file FILE",
                            invocation.svg),
                  setOption(invocation), jsonOption(invocation),
                  maxErrorsOption(invocation)},
      .operands = {1, 1, "a file", &invocation.inputs},
      .check = [&invocation]() -> cli::Check {
        if (invocation.ranks.first > 0)
          return std::nullopt;
        return cli::UsageError{"`recipec scale` needs the ranks",
                               "write `--ranks 8..16384`"};
      },
      .run = [&invocation] { return runScale(invocation); }};
}

} // namespace recipec::driver
