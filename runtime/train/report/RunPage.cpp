// Each section of the page is a function. Tables have captions and headers of
// rows and columns, so that screen readers can name each cell.

#include "runtime/train/report/RunPage.h"

#include "runtime/base/Text.h"
#include "runtime/train/report/Html.h"
#include "runtime/train/report/LineChart.h"
#include "runtime/train/report/RunEventRows.h"
#include "runtime/train/report/RunSummary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace reciperun::train {
namespace {

constexpr size_t slowStepsShown = 5, sampledRows = 20;

// The colors of lines are those of Okabe and Ito (2008), lighter on dark.
constexpr const char* runStyles = R"(
:root { color-scheme: light dark; --page: #fff; --text: #1b1f24; --soft: #59636e;
  --line: #d8dee4; --c0: #0072b2; --c1: #d55e00; --c2: #007a5a; --c3: #a8479a;
  --c4: #8a6d00; --c5: #555 }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f141a; --text: #e6ebf1; --soft: #9aa5b1; --line: #303a45;
    --c0: #56b4e9; --c1: #ff8a4c; --c2: #2cc496; --c3: #e08fd0; --c4: #f0e442;
    --c5: #aaa }
}
body { font: 15px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2em auto;
  padding: 0 1em; background: var(--page); color: var(--text) }
h1 { font-size: 1.5em; margin: 0; overflow-wrap: anywhere }
h2 { font-size: 1.2em; margin: 2em 0 .5em }
h3 { font-size: 1em; margin: 1.5em 0 .3em; overflow-wrap: anywhere }
p { margin: .3em 0 } .soft, caption { color: var(--soft) }
.warning { border-left: 4px solid var(--c1); padding-left: .7em }
.charts { display: grid; gap: 1.2em 2em;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 420px), 1fr)) }
figure { margin: 0 } figcaption { font-weight: 600 }
svg { width: 100%; height: auto; display: block }
svg text { font: 11px system-ui, sans-serif; fill: var(--soft) }
.grid { stroke: var(--line) } .mark { stroke: var(--soft); stroke-dasharray: 1 3 }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round }
.line circle { stroke: none; fill: currentColor; stroke-dasharray: none }
.c0 { stroke: var(--c0); color: var(--c0) } .c1 { stroke: var(--c1); color: var(--c1) }
.c2 { stroke: var(--c2); color: var(--c2) } .c3 { stroke: var(--c3); color: var(--c3) }
.c4 { stroke: var(--c4); color: var(--c4) } .c5 { stroke: var(--c5); color: var(--c5) }
.legend { display: flex; flex-wrap: wrap; gap: .2em 1.5em; padding: 0;
  list-style: none } .legend svg { width: 34px; display: inline; vertical-align: middle }
.scroll { overflow-x: auto }
table { margin: .6em 0; border-collapse: collapse; font-variant-numeric: tabular-nums }
caption { text-align: left }
td, th { padding: 3px 14px 3px 0; text-align: right; border-bottom: 1px solid
  var(--line); white-space: nowrap }
th { font-weight: 500; color: var(--soft) }
th:first-child, .text { text-align: left } td.text { white-space: normal;
  overflow-wrap: anywhere }
summary { cursor: pointer }
)";

std::string cell(const std::string& text) {
  return "<td>" + escaped(text) + "</td>";
}

std::string rowHeader(const std::string& text) {
  return "<th scope='row'>" + escaped(text) + "</th>";
}

enum class LastColumn { number, text };

std::string tableHead(const std::string& caption,
                      const std::vector<std::string>& columns,
                      LastColumn last = LastColumn::number) {
  std::string made = "<div class='scroll'><table>\n<caption>" +
                     escaped(caption) + "</caption>\n<thead><tr>";
  for (const std::string& each : columns) {
    const bool isText = last == LastColumn::text && &each == &columns.back();
    made += (isText ? "<th scope='col' class='text'>" : "<th scope='col'>") +
            escaped(each) + "</th>";
  }
  return made + "</tr></thead>\n<tbody>\n";
}

constexpr const char* tableEnd = "</tbody></table></div>\n";

/// `12 s`, `3 min 5 s`, `2 h 10 min`.
std::string durationText(double seconds) {
  const long whole = std::lround(std::min(seconds, 1e12));
  if (whole < 60)
    return formatted("%.3g s", seconds);
  if (whole < 3600)
    return formatted("%ld min %ld s", whole / 60, whole % 60);
  return formatted("%ld h %ld min", whole / 3600, whole / 60 % 60);
}

std::string optionalText(const std::optional<double>& value,
                         Quantity quantity = Quantity::number) {
  return value ? textOf(*value, quantity) : "–";
}

std::string atStepText(const std::optional<AtStep>& at) {
  return at ? textOf(at->value, Quantity::number) + " at step " +
                  std::to_string(at->step)
            : "–";
}

std::string shareText(double part, double whole) {
  return whole > 0 ? formatted("%.1f %%", 100 * part / whole) : "–";
}

std::string layoutText(const RunFolder& run) {
  if (run.recipe.empty())
    return "–";
  std::string text =
      std::to_string(run.ranks) + (run.ranks == 1 ? " rank" : " ranks");
  return run.layout.empty() ? text : text + " (" + run.layout + ")";
}

/// A run with its figures.
struct Shown {
  const RunFolder& run;
  RunSummary figures;
};
using AllShown = std::vector<Shown>;

// ---- the sections

std::string head(const AllShown& all) {
  const RunFolder& first = all.front().run;
  const std::string title =
      all.size() > 1 ? std::to_string(all.size()) + " runs"
                     : (first.recipe.empty() ? first.path : first.recipe);
  std::string made =
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<meta name='color-scheme' content='light dark'>\n"
      "<meta http-equiv='Content-Security-Policy' content=\"default-src "
      "'none'; "
      "style-src 'unsafe-inline'; img-src data:\">\n"
      "<link rel='icon' href='data:,'>\n<title>" +
      escaped(title) + " – training report</title>\n<style>" + runStyles +
      "</style>\n</head>\n<body>\n<header><h1>" + escaped(title) +
      "</h1>\n<p class='soft'>Training report";
  if (all.size() == 1)
    made += " of " + escaped(first.path);
  made += "</p></header>\n<main>\n";
  for (const Shown& each : all)
    for (const std::string& warning : each.run.warnings)
      made += "<p class='warning'>" + escaped(warning) + "</p>\n";
  return made;
}

/// A row of the table of figures.
struct Figure {
  const char* name;
  std::function<std::string(const Shown&)> text;
};

std::vector<Figure> figuresOfRuns() {
  return {
      {"recipe",
       [](const Shown& s) {
         return s.run.recipe.empty() ? "–" : s.run.recipe;
       }},
      {"task",
       [](const Shown& s) { return s.run.task.empty() ? "–" : s.run.task; }},
      {"layout", [](const Shown& s) { return layoutText(s.run); }},
      {"device",
       [](const Shown& s) {
         return s.run.device.empty() ? "–" : s.run.device;
       }},
      {"steps",
       [](const Shown& s) { return std::to_string(s.figures.lastStep); }},
      {"samples",
       [](const Shown& s) { return std::to_string(s.figures.samples); }},
      {"tokens, with padding",
       [](const Shown& s) {
         return textOf(s.figures.tokens, Quantity::number);
       }},
      {"last loss",
       [](const Shown& s) { return atStepText(s.figures.lastLoss); }},
      {"lowest loss",
       [](const Shown& s) { return atStepText(s.figures.bestLoss); }},
      {"last validation loss",
       [](const Shown& s) { return atStepText(s.figures.lastValidLoss); }},
      {"lowest validation loss",
       [](const Shown& s) { return atStepText(s.figures.bestValidLoss); }},
      {"step time, median",
       [](const Shown& s) {
         return optionalText(s.figures.median, Quantity::seconds);
       }},
      {"step time, p95",
       [](const Shown& s) {
         return optionalText(s.figures.percentile95, Quantity::seconds);
       }},
      {"tokens/s, mean",
       [](const Shown& s) { return optionalText(s.figures.tokensPerSecond); }},
      {"MFU, mean",
       [](const Shown& s) {
         return optionalText(s.figures.mfu, Quantity::ratio);
       }},
      {"peak memory of a rank",
       [](const Shown& s) {
         return optionalText(s.figures.peakBytes, Quantity::bytes);
       }},
      {"time of all steps",
       [](const Shown& s) { return durationText(s.figures.stepSeconds); }},
      {"time since the first start",
       [](const Shown& s) {
         return s.figures.duration ? durationText(*s.figures.duration) : "–";
       }},
      {"goodput",
       [](const Shown& s) {
         return optionalText(s.figures.goodput, Quantity::ratio);
       }},
      {"restarts",
       [](const Shown& s) { return std::to_string(s.figures.restarts); }},
      {"checkpoints",
       [](const Shown& s) { return std::to_string(s.figures.checkpoints); }},
      {"loss spikes",
       [](const Shown& s) { return std::to_string(s.figures.spikes); }},
      {"stragglers",
       [](const Shown& s) { return std::to_string(s.figures.stragglers); }},
  };
}

std::vector<std::string> columnsOf(const AllShown& all, std::string first) {
  std::vector<std::string> columns = {std::move(first)};
  for (const Shown& each : all)
    columns.push_back(each.run.path);
  return columns;
}

std::string summarySection(const AllShown& all) {
  std::string made =
      "<h2>Summary</h2>\n<p class='soft'>Goodput is the time of all steps as a "
      "share of the time since the first start: startup, validations, "
      "checkpoints, lost steps and pauses are the rest.</p>\n" +
      tableHead("Figures", columnsOf(all, "figure"));
  for (const Figure& figure : figuresOfRuns()) {
    made += "<tr>" + rowHeader(figure.name);
    for (const Shown& each : all)
      made += cell(figure.text(each));
    made += "</tr>\n";
  }
  return made + tableEnd;
}

std::string phasesSection(const AllShown& all) {
  std::string made =
      "<h2>Where the time of steps goes</h2>\n<p class='soft'>Shares of the "
      "time of all steps. Each phase is the maximum over the ranks; "
      "checkpoints block the ranks between steps.</p>\n" +
      tableHead("Phases", columnsOf(all, "phase"));
  for (size_t i = 0; i < phaseNames.size(); ++i) {
    made += "<tr>" + rowHeader(phaseNames[i]);
    for (const Shown& each : all)
      made += cell(shareText(each.figures.phases[i], each.figures.stepSeconds));
    made += "</tr>\n";
  }
  made += "<tr>" + rowHeader("blocked by checkpoints");
  for (const Shown& each : all)
    made += cell(shareText(each.figures.saving, each.figures.stepSeconds));
  return made + "</tr>\n" + tableEnd;
}

/// A chart of a column of metrics.jsonl.
struct Curve {
  const char* title;
  Quantity quantity;
  std::optional<double> MetricsRow::*value;
  /// Steps without a value have none, instead of one that is not finite.
  bool isOccasional = false;
};

constexpr Curve curves[] = {
    {"Loss", Quantity::number, &MetricsRow::loss},
    {"Validation loss", Quantity::number, &MetricsRow::validLoss, true},
    {"Learning rate", Quantity::number, &MetricsRow::learningRate},
    {"Gradient norm", Quantity::number, &MetricsRow::gradNorm},
    {"Tokens per second", Quantity::number, &MetricsRow::tokensPerSecond},
    {"Step time", Quantity::seconds, &MetricsRow::stepSeconds},
    {"MFU", Quantity::ratio, &MetricsRow::mfu},
    {"Peak memory of a rank", Quantity::bytes, &MetricsRow::deviceBytes},
};

Series seriesOf(const Curve& curve, const RunFolder& run, size_t style) {
  Series series{run.path, style, {}};
  for (const MetricsRow& row : run.rows) {
    const std::optional<double>& value = row.*curve.value;
    if (value || !curve.isOccasional)
      series.points.push_back(
          {row.step, value.value_or(std::numeric_limits<double>::quiet_NaN())});
  }
  return series;
}

/// Resumed checkpoints, spikes and stragglers, of a page about one run.
std::vector<Mark> marksOf(const AllShown& all) {
  std::vector<Mark> marks;
  if (all.size() > 1)
    return marks;
  const RunFolder& run = all.front().run;
  for (const RunEvent& event : run.events) {
    const bool isShown = event.step >= run.rows.front().step &&
                         event.step <= run.rows.back().step;
    const bool isMarked = event.kind == "resume" || event.kind == "spike" ||
                          event.kind == "straggler";
    if (isShown && isMarked)
      marks.push_back(
          {event.step, event.kind + " at step " + std::to_string(event.step)});
  }
  return marks;
}

/// The lowest and the highest step of all runs.
std::vector<int64_t> stepsOf(const AllShown& all) {
  std::vector<int64_t> steps;
  for (const Shown& each : all)
    for (const MetricsRow& row : each.run.rows)
      steps.push_back(row.step);
  const auto [lowest, highest] = std::ranges::minmax(steps);
  return {lowest, highest};
}

std::string legend(const AllShown& all) {
  if (all.size() < 2)
    return {};
  std::string made = "<ul class='legend'>\n";
  for (size_t i = 0; i < all.size(); ++i)
    made += "<li><svg viewBox='0 0 34 8' aria-hidden='true'><path " +
            styleOf(i) + " d='M0 4L34 4'/></svg> " + escaped(all[i].run.path) +
            "</li>\n";
  return made + "</ul>\n";
}

std::string curvesSection(const AllShown& all) {
  std::string made =
      "<h2>Curves</h2>\n" + legend(all) + "<div class='charts'>\n";
  int number = 0;
  const std::vector<int64_t> steps = stepsOf(all);
  for (const Curve& curve : curves) {
    LineChart chart{curve.title,  curve.quantity, {},
                    marksOf(all), steps.front(),  steps.back()};
    for (size_t i = 0; i < all.size(); ++i)
      chart.series.push_back(seriesOf(curve, all[i].run, i));
    if (hasValues(chart))
      made += "<figure><figcaption>" + escaped(chart.title) +
              "</figcaption>\n" +
              svgOf(chart, "chart" + std::to_string(++number)) + "</figure>\n";
  }
  return made + "</div>\n";
}

std::string slowestTable(const Shown& shown) {
  if (shown.figures.slowest.empty())
    return {};
  std::string made = tableHead("Slowest steps", {"step", "time"});
  for (const AtStep& each : shown.figures.slowest)
    made += "<tr>" + rowHeader(std::to_string(each.step)) +
            cell(textOf(each.value, Quantity::seconds)) + "</tr>\n";
  return made + tableEnd;
}

std::string eventsTable(const RunFolder& run) {
  const EventRows events = eventRowsOf(run);
  if (events.rows.empty())
    return {};
  std::string made =
      tableHead("Events, times in UTC", {"step", "time", "event", "details"},
                LastColumn::text);
  for (const EventRow& each : events.rows)
    made += "<tr>" + rowHeader(std::to_string(each.step)) + cell(each.time) +
            cell(each.what) + "<td class='text'>" + escaped(each.details) +
            "</td></tr>\n";
  made += tableEnd;
  if (events.leftOut > 0)
    made +=
        "<p class='soft'>" + std::to_string(events.leftOut) +
        " more checkpoints, validations and stragglers are not shown.</p>\n";
  return made;
}

/// Steps at equal distances, with the last one, for readers of tables.
std::string valuesTable(const RunFolder& run) {
  const size_t count = std::min(run.rows.size(), sampledRows);
  std::string made =
      "<details><summary>Values of " + std::to_string(count) +
      " steps</summary>\n" +
      tableHead("Values of steps at equal distances",
                {"step", "loss", "learning rate", "gradient norm", "step time",
                 "tokens/s", "memory"});
  for (size_t i = 0; i < count; ++i) {
    const size_t index =
        count == 1 ? 0 : i * (run.rows.size() - 1) / (count - 1);
    const MetricsRow& row = run.rows[index];
    made += "<tr>" + rowHeader(std::to_string(row.step)) +
            cell(optionalText(row.loss)) +
            cell(optionalText(row.learningRate)) +
            cell(optionalText(row.gradNorm)) +
            cell(optionalText(row.stepSeconds, Quantity::seconds)) +
            cell(optionalText(row.tokensPerSecond)) +
            cell(optionalText(row.deviceBytes, Quantity::bytes)) + "</tr>\n";
  }
  return made + tableEnd + "</details>\n";
}

std::string runSection(const Shown& shown) {
  return "<section>\n<h3>" + escaped(shown.run.path) + "</h3>\n" +
         slowestTable(shown) + eventsTable(shown.run) + valuesTable(shown.run) +
         "</section>\n";
}

} // namespace

std::string runPage(const std::vector<RunFolder>& runs) {
  AllShown all;
  for (const RunFolder& run : runs)
    all.push_back({run, summaryOf(run, slowStepsShown)});
  std::string page = head(all) + summarySection(all) + curvesSection(all) +
                     phasesSection(all) + "<h2>Steps and events</h2>\n";
  for (const Shown& each : all)
    page += runSection(each);
  return page + "</main>\n</body>\n</html>\n";
}

} // namespace reciperun::train
