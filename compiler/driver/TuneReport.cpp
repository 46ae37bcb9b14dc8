// The parts of a report on a search, one function each.

#include "compiler/driver/TuneReport.h"

#include "compiler/driver/EstimateReport.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ReportLines.h"
#include "compiler/recipe/Format.h"
#include "runtime/base/Shell.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;
using search::Layout;
using search::Outcome;
using search::Trial;

// ---- what changes

/// A setting, with its previous value.
struct SettingChange {
  std::string path;
  std::string before;
  std::string origin; // of the previous value
  std::string after;
};

std::vector<SettingChange> changesOf(const TuneReport& report,
                                     const Trial& trial) {
  std::vector<SettingChange> changes;
  for (const std::string& setting : trial.settings) {
    const size_t sign = setting.find('=');
    SettingChange& change = changes.emplace_back();
    change.path = setting.substr(0, sign);
    change.after = setting.substr(sign + 1);
    const recipe::Value& value = report.recipe.at(change.path);
    change.before = recipe::formatValue(value, report.recipe.model.dims);
    change.origin = recipe::formatOrigin(value.origin, report.sources);
  }
  return changes;
}

std::string changesText(const TuneReport& report, const Trial& trial) {
  std::string text;
  for (const SettingChange& each : changesOf(report, trial))
    text += "  - " + each.path + " = " + each.before + "  (" + each.origin +
            ")\n  + " + each.path + " = " + each.after + "\n";
  return text;
}

// ---- why it is faster

/// The seconds of a step by the activity of the ranks.
struct StepParts {
  double computing = 0;
  double communication = 0; // time in which a rank only communicates
  double waiting = 0;       // time in which a rank waits for other stages
};

StepParts partsOf(const Outcome& outcome) {
  StepParts parts;
  parts.communication = outcome.communication * outcome.stepSeconds;
  parts.waiting = outcome.bubble * outcome.stepSeconds;
  parts.computing = outcome.stepSeconds - parts.communication - parts.waiting;
  return parts;
}

using NamedPart = std::pair<const char*, double StepParts::*>;
constexpr NamedPart namedParts[] = {
    {"computing", &StepParts::computing},
    {"communication", &StepParts::communication},
    {"waiting for other stages", &StepParts::waiting},
};

std::string secondsText(double seconds) {
  return formatted("%.3g s", std::max(0.0, seconds));
}

/// The parts of a step that change by at least half a percent of it, the
/// largest change first: `communication 0.868 s -> 0.31 s`.
std::string timeReasons(const Outcome& before, const Outcome& after) {
  const StepParts old = partsOf(before), now = partsOf(after);
  std::vector<NamedPart> changed;
  for (const NamedPart& each : namedParts)
    if (std::abs(now.*each.second - old.*each.second) >=
        0.005 * before.stepSeconds)
      changed.push_back(each);
  std::stable_sort(changed.begin(), changed.end(),
                   [&](const NamedPart& left, const NamedPart& right) {
                     return std::abs(now.*left.second - old.*left.second) >
                            std::abs(now.*right.second - old.*right.second);
                   });
  std::string text;
  for (const auto& [name, part] : changed)
    text += (text.empty() ? "" : ", ") + std::string(name) + " " +
            secondsText(old.*part) + " -> " + secondsText(now.*part);
  return text;
}

/// Names the largest part of the step, and the memory if little is left.
std::string whatBinds(const Outcome& outcome) {
  const StepParts parts = partsOf(outcome);
  const NamedPart& most =
      *std::max_element(std::begin(namedParts), std::end(namedParts),
                        [&](const NamedPart& left, const NamedPart& right) {
                          return parts.*left.second < parts.*right.second;
                        });
  std::string text = std::string(most.first) + ", " +
                     percent(parts.*most.second / outcome.stepSeconds) +
                     " of the step";
  const double filled =
      double(outcome.memory.total) / double(outcome.memory.capacity);
  if (filled >= 0.9)
    text += "; memory, " + percent(filled) + " of the device";
  return text;
}

std::string gainText(const TuneReport& report, const Trial& trial) {
  if (!report.written.fits())
    return "fits, as the recipe does not";
  return percent(report.written.stepSeconds / trial.outcome.stepSeconds - 1) +
         " faster than as written";
}

std::string detailsText(const TuneReport& report, const Trial& trial,
                        size_t number) {
  const Outcome& before = report.written;
  const Outcome& after = trial.outcome;
  std::string text = "\n" + std::to_string(number) + ": " +
                     gainText(report, trial) + "\n" +
                     changesText(report, trial);
  if (const std::string reasons = timeReasons(before, after); !reasons.empty())
    text += reportLine("time", reasons);
  text += reportLine("memory of a rank",
                     formatBytes(before.memory.total) + " -> " +
                         formatBytes(after.memory.total) + " of " +
                         formatBytes(after.memory.capacity));
  text += reportLine("what binds", whatBinds(after));
  return text + "  " + setArguments(trial.settings) + "\n";
}

// ---- the table

/// `dp 2, cp 1, tp 4`: the degrees above 1, and micro-batches above 1.
std::string degreesText(const Layout& layout, int64_t ranks) {
  std::string text;
  for (const auto& [name, degree] :
       {std::pair<const char*, int64_t>{"dp", layout.dp(ranks)},
        {"cp", layout.cp},
        {"tp", layout.tp},
        {"pp", layout.pp},
        {"vp", layout.vp},
        {"ep", layout.ep},
        {"etp", layout.etp},
        {"micro-batch", layout.micro}})
    if (degree > 1)
      text += (text.empty() ? "" : ", ") + std::string(name) + " " +
              std::to_string(degree);
  return text.empty() ? "one rank" : text;
}

std::string rowText(const std::string& number, const Outcome& outcome,
                    const std::string& layout) {
  char line[128];
  std::snprintf(
      line, sizeof line, "%-3s %9.4g %10.4g %10s %8s %14s %8s  ",
      number.c_str(), outcome.stepSeconds, outcome.tokensPerSecondPerRank,
      formatBytes(outcome.memory.total).c_str(), percent(outcome.mfu).c_str(),
      percent(outcome.communication).c_str(), percent(outcome.bubble).c_str());
  return line + layout + (outcome.fits() ? "" : " (does not fit)") + "\n";
}

std::string headerText(const TuneReport& report) {
  const recipe::Recipe& recipe = report.recipe;
  std::string text =
      "`" + recipe.name + "` on " +
      std::to_string(recipe.integer("cluster.ranks")) + " x " +
      recipe.string("cluster.hardware.name") + ", " +
      std::to_string(recipe.integer("batch.global")) + " sequences of " +
      std::to_string(recipe.integer("data.sequence")) + " tokens a step\n";
  return text + "  " + std::to_string(report.found.predicted) +
         " layouts predicted from " + std::to_string(report.found.samples) +
         " compilations of one stage, " +
         std::to_string(report.found.compiled) + " compiled in full\n\n";
}

// ---- JSON

Json outcomeJson(const Outcome& outcome) {
  return {{"fits", outcome.fits()},
          {"step_seconds", outcome.stepSeconds},
          {"tokens_per_second_per_rank", outcome.tokensPerSecondPerRank},
          {"mfu", outcome.mfu},
          {"communication", outcome.communication},
          {"bubble", outcome.bubble},
          {"memory_bytes", outcome.memory.total},
          {"capacity_bytes", outcome.memory.capacity}};
}

Json degreesJson(const Layout& layout, int64_t ranks) {
  return {{"dp", layout.dp(ranks)}, {"cp", layout.cp}, {"tp", layout.tp},
          {"pp", layout.pp},        {"vp", layout.vp}, {"ep", layout.ep},
          {"etp", layout.etp}};
}

Json trialJson(const TuneReport& report, const Trial& trial) {
  Json changes = Json::array();
  for (const SettingChange& each : changesOf(report, trial))
    changes.push_back({{"path", each.path},
                       {"before", each.before},
                       {"origin", each.origin},
                       {"after", each.after}});
  Json json = outcomeJson(trial.outcome);
  json["layout"] =
      degreesJson(trial.layout, report.recipe.integer("cluster.ranks"));
  json["settings"] = trial.settings;
  json["changes"] = std::move(changes);
  return json;
}

bool hasEqualDegrees(const Layout& one, const Layout& other) {
  return one.tp == other.tp && one.cp == other.cp && one.pp == other.pp &&
         one.vp == other.vp && one.ep == other.ep && one.etp == other.etp &&
         one.micro == other.micro;
}

} // namespace

std::vector<Trial> TuneReport::listed() const {
  std::vector<Trial> list;
  for (const Trial& each : found.best) {
    if (list.size() == most || each.settings.empty())
      break;
    const bool isNew = std::none_of(list.begin(), list.end(), [&](auto& other) {
      return hasEqualDegrees(other.layout, each.layout);
    });
    if (isNew)
      list.push_back(each);
  }
  return list;
}

std::string setArguments(const search::Settings& settings) {
  std::string text;
  for (const std::string& each : settings)
    text += (text.empty() ? "--set " : " --set ") + reciperun::shellWord(each);
  return text;
}

std::string tuneText(const TuneReport& report) {
  const int64_t ranks = report.recipe.integer("cluster.ranks");
  const std::vector<Trial> list = report.listed();
  std::string text = headerText(report);
  text += "      seconds   tokens/s  memory of\n"
          "       a step  of a rank     a rank      MFU  communication   "
          "bubble  layout\n";
  text +=
      rowText("-", report.written,
              "as written: " +
                  degreesText(search::layoutOf(report.recipe).layout, ranks));
  for (size_t i = 0; i < list.size(); ++i)
    text += rowText(std::to_string(i + 1), list[i].outcome,
                    degreesText(list[i].layout, ranks));
  for (size_t i = 0; i < list.size(); ++i)
    text += detailsText(report, list[i], i + 1);
  if (list.empty())
    text +=
        "\nthe search found no layout that is faster than the written one\n";
  return text;
}

Json tuneJson(const TuneReport& report) {
  Json best = Json::array();
  for (const Trial& each : report.listed())
    best.push_back(trialJson(report, each));
  return {{"recipe", report.recipe.name},
          {"ranks", report.recipe.integer("cluster.ranks")},
          {"predicted", report.found.predicted},
          {"sampled", report.found.samples},
          {"compiled", report.found.compiled},
          {"written", outcomeJson(report.written)},
          {"best", std::move(best)}};
}

} // namespace recipec::driver
