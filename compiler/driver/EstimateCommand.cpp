// `recipec estimate FILE`: memory before anything runs, and bounds on the time
// and the throughput: a roofline knows no latency and no contention.

#include "compiler/driver/Driver.h"

#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/Pipeline.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ostream>
#include <string>
#include <vector>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

Json jsonOf(const cost::Estimate& estimate) {
  const cost::MemoryTable& memory = estimate.memory;
  Json stages = Json::array();
  for (const cost::MemoryTable& each : estimate.stages) {
    Json stage = {{"total_bytes", each.total}};
    for (const MemoryRow& row : memoryRows(each))
      stage[std::string(row.name)] = row.bytes;
    stages.push_back(std::move(stage));
  }
  return {
      {"fits", memory.fits()},
      {"capacity_bytes", memory.capacity},
      {"stages", std::move(stages)},
      {"flops_per_step", estimate.flopsPerStep},
      {"step_seconds", estimate.stepSeconds},
      {"tokens_per_second_per_rank", estimate.tokensPerSecondPerRank},
      {"tflops_per_rank", estimate.tflopsPerRank},
      {"mfu", estimate.mfu},
      {"ranks", estimate.ranks},
      {"layers_per_chunk", estimate.layersPerChunk},
  };
}

void printLine(std::ostream& out, const char* name, const char* format,
               double value) {
  char number[64], line[128];
  std::snprintf(number, sizeof number, format, value);
  std::snprintf(line, sizeof line, "  %-28s %s\n", name, number);
  out << line;
}

void printTables(const Compilation& compilation, std::ostream& out) {
  const cost::Estimate& estimate = compilation.estimate;
  const std::string& device =
      compilation.recipe.string("cluster.hardware.name");
  out << '`' << compilation.recipe.name << "` on " << estimate.ranks << " x "
      << device << "\n";
  for (size_t i = 0; i < estimate.stages.size(); ++i) {
    out << "\nmemory of a rank";
    if (estimate.stages.size() > 1)
      out << " of stage " << i;
    const cost::MemoryTable& memory = estimate.stages[i];
    out << ", in bytes\n" << memoryTableText(memory);
    if (!memory.fits())
      out << "  does not fit: " << formatBytes(memory.total - memory.capacity)
          << " more than the " << formatBytes(memory.capacity) << " of `"
          << device << "`\n";
  }
  if (estimate.stepSeconds <= 0)
    return;
  out << "\na step at best: bounds, by a roofline over the device's figures\n";
  printLine(out, "FLOPs", "%.4g", estimate.flopsPerStep);
  printLine(out, "seconds, at least", "%.4g", estimate.stepSeconds);
  printLine(out, "tokens/s of a rank, at most", "%.4g",
            estimate.tokensPerSecondPerRank);
  printLine(out, "TFLOP/s of a rank, at most", "%.4g", estimate.tflopsPerRank);
  printLine(out, "MFU, at most", "%.1f %%", 100 * estimate.mfu);
  if (estimate.stages.size() > 1)
    printLine(out, "bubble", "%.1f %%", 100 * estimate.bubble);
}

/// A point of a sweep, estimated.
struct Point {
  std::string name;
  cost::Estimate estimate;
};

/// A line a point, the names behind: they are as long as they are.
void printPoints(const std::vector<Point>& points, std::ostream& out) {
  out << "    memory of   seconds   tokens/s\n"
         "       a rank    a step  of a rank     MFU\n"
         "               at least    at most at most  point\n";
  for (const Point& point : points) {
    const cost::Estimate& estimate = point.estimate;
    char line[96];
    std::snprintf(line, sizeof line, "%13s %9.4g %10.4g %5.1f %%  ",
                  formatBytes(estimate.memory.total).c_str(),
                  estimate.stepSeconds, estimate.tokensPerSecondPerRank,
                  100 * estimate.mfu);
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
    if (auto compilation = compile(session, engine))
      points.push_back(
          {compilation->recipe.name, std::move(compilation->estimate)});
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
    object.update(jsonOf(point.estimate));
    array.push_back(std::move(object));
  }
  invocation.out << array.dump(2) << '\n';
  return code;
}

int estimateOne(Session& session, const Invocation& invocation) {
  auto compilation = compile(session, session.engine);
  int code = finish(session, invocation);
  if (!compilation)
    return exitDiagnostics;
  if (invocation.json)
    invocation.out << jsonOf(compilation->estimate).dump(2) << '\n';
  else
    printTables(*compilation, invocation.out);
  return code;
}

} // namespace

/// A plan that does not fit is an answer here, not an error: `fits` is false.
int runEstimate(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  if (!session.open(invocation.sets))
    return finish(session, invocation);
  auto selection = session.select(sema::Extent::recipe);
  if (!selection)
    return finish(session, invocation);
  if (selection->front().point && session.target.point.empty())
    return estimateSweep(session, std::move(*selection), invocation);
  session.selected = std::move(selection->front());
  return estimateOne(session, invocation);
}

} // namespace recipec::driver
