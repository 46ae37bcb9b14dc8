// Writes the intervals of the timeline as complete events, and also the streams
// in the first run of each function.

#include "compiler/driver/PredictionTrace.h"

#include "runtime/ops/OpTable.h"

#include <nlohmann/json.hpp>

#include <set>
#include <utility>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* threadNames[] = {"functions", "kernels", "links",
                                       "network", "copies to the host"};

int threadOf(cost::Stream stream) {
  switch (stream) {
  case cost::Stream::kernels:
    return 1;
  case cost::Stream::links:
    return 2;
  case cost::Stream::network:
    return 3;
  case cost::Stream::host:
    return 4;
  }
  return 0;
}

Json metadata(const char* kind, size_t stage, int thread,
              const std::string& name) {
  return {{"name", kind},
          {"ph", "M"},
          {"pid", stage},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

Json event(const std::string& name, size_t stage, int thread, double begin,
           double end, Json arguments) {
  return {{"name", name},
          {"ph", "X"},
          {"pid", stage},
          {"tid", thread},
          {"ts", begin * 1e6},
          {"dur", (end - begin) * 1e6},
          {"args", std::move(arguments)}};
}

/// The ops of a function that starts at `begin`.
void addOps(Json& events, size_t stage, const cost::FunctionRun& run,
            double begin) {
  for (const cost::StreamInterval& interval : run.intervals) {
    const std::string kind = reciperun::ops::opName(interval.op->kind);
    events.push_back(event(interval.op->name.empty() ? kind : interval.op->name,
                           stage, threadOf(interval.stream),
                           begin + interval.begin, begin + interval.end,
                           {{"op", kind}}));
  }
}

} // namespace

std::string traceJson(const std::vector<ir::Module>& stages,
                      const cost::Prediction& prediction) {
  Json events = Json::array();
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    events.push_back(
        metadata("process_name", stage, 0, "stage " + std::to_string(stage)));
    for (int thread = 0; thread < int(std::size(threadNames)); ++thread)
      events.push_back(
          metadata("thread_name", stage, thread, threadNames[thread]));
    std::set<std::string> seen;
    for (const cost::Interval& interval : prediction.timeline.stages[stage]) {
      events.push_back(event(
          interval.function, stage, 0, interval.begin, interval.end,
          {{"micro-batch", interval.microBatch}, {"chunk", interval.chunk}}));
      if (seen.insert(interval.function).second)
        addOps(events, stage, prediction.runs[stage].at(interval.function),
               interval.begin);
    }
  }
  return Json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}})
             .dump() +
         "\n";
}

} // namespace recipec::driver
