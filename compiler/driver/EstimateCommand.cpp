// `recipec estimate FILE`: memory, time and throughput before anything runs.

#include "compiler/driver/Driver.h"

#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/Pipeline.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <ostream>

namespace recipec::driver {
namespace {

std::string jsonText(const cost::Estimate& estimate) {
  using Json = nlohmann::ordered_json;
  const cost::MemoryTable& memory = estimate.memory;
  Json stage = {{"total_bytes", memory.total}};
  for (const MemoryRow& row : memoryRows(memory))
    stage[std::string(row.name)] = row.bytes;
  Json object = {
      {"fits", memory.fits()},
      {"capacity_bytes", memory.capacity},
      {"stages", Json::array({std::move(stage)})},
      {"flops_per_step", estimate.flopsPerStep},
      {"step_seconds", estimate.stepSeconds},
      {"tokens_per_second_per_rank", estimate.tokensPerSecondPerRank},
      {"tflops_per_rank", estimate.tflopsPerRank},
      {"mfu", estimate.mfu},
      {"ranks", estimate.ranks},
      {"layers_per_chunk", estimate.layersPerChunk},
  };
  return object.dump(2) + '\n';
}

void printLine(std::ostream& out, const char* name, const char* format,
               double value) {
  char number[64], line[128];
  std::snprintf(number, sizeof number, format, value);
  std::snprintf(line, sizeof line, "  %-24s %s\n", name, number);
  out << line;
}

void printTables(const Compilation& compilation, std::ostream& out) {
  const cost::Estimate& estimate = compilation.estimate;
  out << '`' << compilation.recipe.name << "` on " << estimate.ranks << " x "
      << compilation.recipe.string("cluster.hardware.name")
      << "\n\nmemory of a rank, in bytes\n"
      << memoryTableText(estimate.memory);
  if (estimate.stepSeconds <= 0)
    return;
  out << "\na step, by a roofline over the device's figures\n";
  printLine(out, "FLOPs", "%.4g", estimate.flopsPerStep);
  printLine(out, "seconds", "%.4g", estimate.stepSeconds);
  printLine(out, "tokens/s of a rank", "%.4g", estimate.tokensPerSecondPerRank);
  printLine(out, "TFLOP/s of a rank", "%.4g", estimate.tflopsPerRank);
  printLine(out, "MFU", "%.1f %%", 100 * estimate.mfu);
}

} // namespace

/// A plan that does not fit is an answer here, not an error: `fits` is false.
int runEstimate(const Invocation& invocation) {
  Session session(invocation.inputs[0]);
  std::optional<Compilation> compilation;
  if (session.open(invocation.sets) && session.selectOne())
    compilation = compile(session, session.engine);
  int code = finish(session, invocation);
  if (!compilation)
    return exitDiagnostics;
  if (invocation.json)
    invocation.out << jsonText(compilation->estimate);
  else
    printTables(*compilation, invocation.out);
  return code;
}

} // namespace recipec::driver
