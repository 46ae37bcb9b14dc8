// Tables of predictions by ranks; see ScaleReport.h.

#include "compiler/driver/ScaleReport.h"

#include "compiler/driver/EstimateReport.h"

#include <nlohmann/json.hpp>

#include <cstdio>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

std::string lineOf(const ScalePoint& point) {
  char line[128];
  std::snprintf(line, sizeof line, "%9lld %8lld ", (long long)point.ranks,
                (long long)point.globalBatch);
  if (!point.reason.empty())
    return line + std::string(" impossible: ") + point.reason + "\n";
  const std::string numbers = line;
  std::snprintf(line, sizeof line, "%10.4g %10.4g %8s %11s  %s\n",
                point.outcome.stepSeconds, point.outcome.tokensPerSecondPerRank,
                percent(point.outcome.mfu).c_str(),
                percent(point.efficiency).c_str(),
                point.outcome.fits() ? "yes" : "no");
  return numbers + line;
}

std::string tableOf(const ScaleReport& report, bool isWeak) {
  std::string text =
      isWeak ? "weak scaling: the global batch grows with the ranks\n"
             : "strong scaling: the global batch is fixed\n";
  text += "    ranks    batch  s a step   tokens/s      MFU  efficiency  fits\n"
          "                               of a rank\n";
  for (const ScalePoint* point : report.of(isWeak))
    text += lineOf(*point);
  return text;
}

Json pointJson(const ScalePoint& point) {
  Json json = {{"ranks", point.ranks}, {"global_batch", point.globalBatch}};
  if (!point.reason.empty()) {
    json["reason"] = point.reason;
    return json;
  }
  const search::Outcome& outcome = point.outcome;
  json["step_seconds"] = outcome.stepSeconds;
  json["tokens_per_second_per_rank"] = outcome.tokensPerSecondPerRank;
  json["mfu"] = outcome.mfu;
  json["efficiency"] = point.efficiency;
  json["communication"] = outcome.communication;
  json["bubble"] = outcome.bubble;
  json["memory_bytes"] = outcome.memory.total;
  json["fits"] = outcome.fits();
  return json;
}

Json pointsJson(const ScaleReport& report, bool isWeak) {
  Json array = Json::array();
  for (const ScalePoint* point : report.of(isWeak))
    array.push_back(pointJson(*point));
  return array;
}

} // namespace

std::vector<const ScalePoint*> ScaleReport::of(bool isWeak) const {
  std::vector<const ScalePoint*> list;
  for (const ScalePoint& point : points)
    if (point.isWeak == isWeak)
      list.push_back(&point);
  return list;
}

void ScaleReport::compareWithFirst() {
  for (const bool isWeak : {true, false}) {
    double first = 0;
    for (ScalePoint& point : points) {
      const double rate = point.outcome.tokensPerSecondPerRank;
      if (point.isWeak != isWeak || !point.outcome.isValid || rate <= 0)
        continue;
      if (first == 0)
        first = rate;
      point.efficiency = rate / first;
    }
  }
}

std::string scaleText(const ScaleReport& report) {
  const recipe::Recipe& recipe = report.recipe;
  return "`" + recipe.name + "` on " + recipe.string("cluster.hardware.name") +
         ", as written " + std::to_string(recipe.integer("batch.global")) +
         " sequences of " + std::to_string(recipe.integer("data.sequence")) +
         " tokens on " + std::to_string(recipe.integer("cluster.ranks")) +
         " ranks\n\n" + tableOf(report, true) + "\n" + tableOf(report, false);
}

Json scaleJson(const ScaleReport& report) {
  return {{"recipe", report.recipe.name},
          {"weak", pointsJson(report, true)},
          {"strong", pointsJson(report, false)}};
}

} // namespace recipec::driver
