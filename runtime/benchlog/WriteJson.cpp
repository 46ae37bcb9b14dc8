// Writes the JSON of nccl-tests: booleans are the texts "true" and "false", a
// root is a text of six characters, and a count of wrong elements that is not
// known is null.

#include "runtime/benchlog/BenchLog.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace reciperun::benchlog {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int fileVersion = 3;

std::string textOfBool(bool value) {
  return value ? "true" : "false";
}

OrderedJson jsonOf(const Settings& settings,
                   const std::vector<RankLine>& ranks) {
  OrderedJson config = {
      {"nthreads", settings.threads},
      {"ngpus", settings.gpus},
      {"minimum_bytes", settings.minBytes},
      {"maximum_bytes", settings.maxBytes},
      {settings.isFactor ? "step_factor" : "step_bytes", settings.step},
      {"warmup_iters", settings.warmups},
      {"iterations", settings.iterations},
      {"aggregated_iterations", settings.aggregated},
      {"validation", settings.validation},
      {"graph", settings.graph},
      {"blocking_collectives", textOfBool(settings.blocking != 0)},
      {"per_iter_timing", "false"},
      {"parallel_init", "false"},
      {"devices", OrderedJson::array()}};
  for (const RankLine& rank : ranks)
    config["devices"].push_back({{"rank", rank.rank},
                                 {"group", rank.group},
                                 {"pid", rank.pid},
                                 {"hostname", rank.host},
                                 {"device", rank.device},
                                 {"device_hex", rank.address},
                                 {"device_info", rank.name}});
  return config;
}

OrderedJson jsonOf(const Half& half, bool isCpuTime) {
  return {{isCpuTime ? "cpu_time" : "time", half.microseconds.value},
          {"alg_bw", half.algorithm.value},
          {"bus_bw", half.bus.value},
          {"nwrong", half.wrong ? OrderedJson(*half.wrong) : OrderedJson()}};
}

OrderedJson jsonOf(const Row& row, const BenchLog& log, bool isCpuTime) {
  char root[16];
  std::snprintf(root, sizeof root, "%6d", row.root);
  OrderedJson json = {{"size", row.size},
                      {"count", row.count},
                      {"type", row.type},
                      {"redop", row.redop},
                      {"root", root}};
  json["out_of_place"] =
      row.outOfPlace ? jsonOf(*row.outOfPlace, isCpuTime) : OrderedJson();
  json["in_place"] =
      row.inPlace ? jsonOf(*row.inPlace, isCpuTime) : OrderedJson();
  json["actual_iterations"] = log.settings ? log.settings->iterations : 0;
  json["experiment_name"] = log.test;
  return json;
}

} // namespace

std::string toJson(const BenchLog& log, bool isCpuTime) {
  OrderedJson json = {{"version", fileVersion},
                      {"start_time", log.startTime},
                      {"args", log.arguments},
                      {"env", log.environment},
                      {"nccl_version", log.ncclVersion}};
  if (log.settings)
    json["config"] = jsonOf(*log.settings, log.ranks);
  json["results"] = OrderedJson::array();
  for (const Row& row : log.rows)
    json["results"].push_back(jsonOf(row, log, isCpuTime));
  const int64_t wrong = log.outOfBounds.value_or(0);
  json["out_of_bounds"] = {{"count", wrong}, {"okay", textOfBool(wrong == 0)}};
  json["average_bus_bandwidth"] = {
      {"bandwidth", log.average ? log.average->value : 0},
      {"okay",
       log.verdict.empty() ? "unchecked" : textOfBool(log.verdict == "OK")}};
  json["errors"] = OrderedJson::array();
  json["end_time"] = log.endTime;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

} // namespace reciperun::benchlog
