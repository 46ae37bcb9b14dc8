// Reads the JSON of nccl-tests, versions 1 to 3. Members that are missing or of
// another type keep their default; a file without results is an error.

#include "runtime/benchlog/BenchLog.h"

#include "runtime/base/ParseJson.h"
#include "runtime/benchlog/CollectiveTest.h"

#include <nlohmann/json.hpp>

#include <cstdlib>

namespace reciperun::benchlog {
namespace {

using Json = nlohmann::json;

/// Half of the last decimal that `%lf` prints.
constexpr double jsonRounding = 0.5e-6;

const Json& member(const Json& object, const char* key) {
  static const Json none;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

double numberOf(const Json& value) {
  if (value.is_string())
    return std::atof(value.get_ref<const std::string&>().c_str());
  return value.is_number() ? value.get<double>() : 0;
}

std::string textOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::vector<std::string> textsOf(const Json& list) {
  std::vector<std::string> texts;
  if (list.is_array())
    for (const Json& each : list)
      texts.push_back(textOf(each));
  return texts;
}

Figure figureOf(const Json& value) {
  return {numberOf(value), jsonRounding};
}

std::optional<Half> halfOf(const Json& json) {
  if (!json.is_object())
    return std::nullopt;
  const Json& time = member(json, "time");
  const Json& wrong = member(json, "nwrong");
  Half half{figureOf(time.is_null() ? member(json, "cpu_time") : time),
            figureOf(member(json, "alg_bw")), figureOf(member(json, "bus_bw")),
            std::nullopt};
  if (wrong.is_number())
    half.wrong = numberOf(wrong);
  return half;
}

Row rowOf(const Json& json) {
  Row row;
  row.size = int64_t(numberOf(member(json, "size")));
  row.count = int64_t(numberOf(member(json, "count")));
  row.type = textOf(member(json, "type"));
  row.redop = textOf(member(json, "redop"));
  row.root = int(numberOf(member(json, "root")));
  row.outOfPlace = halfOf(member(json, "out_of_place"));
  row.inPlace = halfOf(member(json, "in_place"));
  return row;
}

RankLine rankOf(const Json& json) {
  return {int(numberOf(member(json, "rank"))),
          int(numberOf(member(json, "group"))),
          int64_t(numberOf(member(json, "pid"))),
          textOf(member(json, "hostname")),
          int(numberOf(member(json, "device"))),
          textOf(member(json, "device_hex")),
          textOf(member(json, "device_info"))};
}

Settings settingsOf(const Json& config) {
  const auto count = [&](const char* key) {
    return int(numberOf(member(config, key)));
  };
  Settings settings;
  settings.threads = count("nthreads");
  settings.gpus = count("ngpus");
  settings.minBytes = int64_t(numberOf(member(config, "minimum_bytes")));
  settings.maxBytes = int64_t(numberOf(member(config, "maximum_bytes")));
  settings.isFactor = member(config, "step_factor").is_number();
  settings.step = int64_t(numberOf(
      member(config, settings.isFactor ? "step_factor" : "step_bytes")));
  settings.warmups = count("warmup_iters");
  settings.iterations = count("iterations");
  settings.aggregated = count("aggregated_iterations");
  settings.validation = count("validation");
  settings.graph = count("graph");
  settings.blocking =
      textOf(member(config, "blocking_collectives")) == "true" ? 1 : 0;
  return settings;
}

/// The test that the arguments name, or the results.
std::string testOf(const Json& json) {
  for (const std::string& argument : textsOf(member(json, "args")))
    if (const auto test = findTest(argument))
      return std::string(nameOf(*test));
  const Json& results = member(json, "results");
  if (!results.empty())
    if (const auto test =
            findTest(textOf(member(results.front(), "experiment_name"))))
      return std::string(nameOf(*test));
  return {};
}

} // namespace

Expected<BenchLog> readJson(std::string_view text) {
  const auto json = parseJson(text);
  RECIPERUN_TRY(json);
  const Json& results = member(*json, "results");
  if (!results.is_array())
    return Status::error("the JSON has no list `results`: it is not of "
                         "nccl-tests' `-J` or of `reciperun bench`");
  BenchLog log;
  log.test = testOf(*json);
  log.arguments = textsOf(member(*json, "args"));
  log.ncclVersion = int(numberOf(member(*json, "nccl_version")));
  log.startTime = textOf(member(*json, "start_time"));
  log.endTime = textOf(member(*json, "end_time"));
  if (const Json& config = member(*json, "config"); config.is_object()) {
    log.settings = settingsOf(config);
    if (const Json& devices = member(config, "devices"); devices.is_array())
      for (const Json& each : devices)
        log.ranks.push_back(rankOf(each));
  }
  for (const Json& each : results)
    log.rows.push_back(rowOf(each));
  if (const Json& count = member(member(*json, "out_of_bounds"), "count");
      count.is_number())
    log.outOfBounds = int64_t(numberOf(count));
  const Json& average = member(*json, "average_bus_bandwidth");
  if (average.is_object())
    log.average = figureOf(member(average, "bandwidth"));
  const std::string okay = textOf(member(average, "okay"));
  log.verdict = okay == "true" ? "OK" : okay == "false" ? "FAILED" : "";
  return log;
}

} // namespace reciperun::benchlog
