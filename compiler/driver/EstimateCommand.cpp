// `recipec estimate FILE`: the memory of a run, and its predicted time and
// throughput.

#include "compiler/driver/Commands.h"

#include "compiler/driver/EstimateReport.h"
#include "compiler/driver/GeneratingRecipe.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/OutputFile.h"
#include "compiler/driver/Pipeline.h"
#include "compiler/driver/PredictionTrace.h"
#include "runtime/cli/Options.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

/// A point of a sweep and its estimate.
struct Point {
  std::string name;
  cost::Estimate estimate;
  Json json;
  bool isCpu = false; // a CPU's peak is a guess, so it has no MFU
};

/// Prints a line per point. The names come last because their length varies.
void printPoints(const std::vector<Point>& points, std::ostream& out) {
  out << "    memory of   seconds   tokens/s\n"
         "       a rank    a step  of a rank     MFU  point\n";
  for (const Point& point : points) {
    const cost::Estimate& estimate = point.estimate;
    char line[96];
    char mfu[16] = "      -  ";
    if (!point.isCpu)
      std::snprintf(mfu, sizeof mfu, "%5.1f %%  ", 100 * estimate.mfu);
    std::snprintf(line, sizeof line, "%13s %9.4g %10.4g %s",
                  formatBytes(estimate.memory.total).c_str(),
                  estimate.stepSeconds, estimate.tokensPerSecondPerRank, mfu);
    out << line << point.name
        << (estimate.memory.fits() ? "" : " (does not fit)") << '\n';
  }
}

int estimateSweep(Session& session, std::vector<sema::Selection> selection,
                  const Invocation& invocation) {
  std::vector<Point> points;
  for (sema::Selection& each : selection) {
    session.selected = std::move(each);
    diag::Engine engine;
    if (auto compilation = compile(session, engine, {}, Verification::none))
      points.push_back(
          {compilation->recipe.name, compilation->estimate,
           estimateJson(*compilation),
           compilation->recipe.string("cluster.hardware.kind") == "cpu"});
    session.take(engine);
  }
  int code = finish(session, invocation);
  if (!invocation.json) {
    printPoints(points, invocation.out);
    return code;
  }
  Json array = Json::array();
  for (const Point& point : points) {
    Json object = {{"name", point.name}};
    object.update(point.json);
    array.push_back(std::move(object));
  }
  invocation.out << array.dump(2) << '\n';
  return code;
}

/// Returns whether the trace has been written.
bool writeTrace(const Compilation& compilation, const Invocation& invocation) {
  if (compilation.estimate.stepSeconds <= 0) {
    invocation.err << "error: `" << compilation.recipe.name
                   << "` has no step of training to trace\n"
                      "help: leave out `--trace`\n";
    return false;
  }
  const cost::Prediction prediction =
      cost::predict(compilation.stages, compilation.recipe, true);
  return writeOutput(invocation.output,
                     traceJson(compilation.stages, prediction), invocation.err);
}

int estimateOne(Session& session, const Invocation& invocation) {
  auto compilation = compile(session, session.engine, {}, Verification::none);
  int code = finish(session, invocation);
  if (!compilation ||
      (!invocation.output.empty() && !writeTrace(*compilation, invocation)))
    return exitDiagnostics;
  if (invocation.json)
    invocation.out << estimateJson(*compilation).dump(2) << '\n';
  else
    invocation.out << estimateText(*compilation);
  return code;
}

/// A plan that does not fit is a result here, not an error: `fits` is false.
int runEstimate(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (isModelFolder(session.target.file) && !openModelFolder(session))
    return finish(session, invocation);
  if (!session.open(invocation.sets))
    return finish(session, invocation);
  if (!invocation.output.empty()) // a trace is of one recipe
    return session.selectOne() ? estimateOne(session, invocation)
                               : finish(session, invocation);
  auto selection = session.select(sema::Extent::recipe);
  if (!selection)
    return finish(session, invocation);
  if (selection->size() > 1 ||
      (selection->front().point && session.target.point.empty()))
    return estimateSweep(session, std::move(*selection), invocation);
  session.selected = std::move(selection->front());
  return estimateOne(session, invocation);
}

} // namespace

cli::Command estimateCommand(Invocation& invocation) {
  return {.name = "estimate",
          .synopsis = "FILE[:NAME] [options]",
          .summary = "predict memory, step time, throughput and MFU",
          .details =
              "Prints the memory of a rank by category, and the predicted time "
              "of a step with its range, throughput, MFU and where the time "
              "goes. Of a sweep, a line a point.\n\n"
              "--trace writes the predicted step as a trace for Perfetto and "
              "chrome://tracing: a process a stage, a thread a stream.",
          .options = {setOption(invocation), jsonOption(invocation),
                      cli::text("--trace", "JSON",
                                "write the predicted step to the file JSON",
                                invocation.output),
                      maxErrorsOption(invocation)},
          .operands = {1, 1, "a file", &invocation.inputs},
          .run = [&invocation] { return runEstimate(invocation); }};
}

} // namespace recipec::driver
