// Each section of the page is a function. Pictures are SVG; their lengths are
// in pixels.

#include "compiler/driver/PlanPage.h"

#include "compiler/cost/Prediction.h"
#include "compiler/driver/EstimateReport.h"
#include "compiler/driver/MemoryReport.h"
#include "compiler/driver/ServingReport.h"
#include "compiler/recipe/Task.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace recipec::driver {
namespace {

using cost::Interval;
using reciperun::ops::OpFamily;

constexpr double pictureWidth = 960, labelWidth = 84;
/// More rows than this make a picture unreadable; the rest is counted.
constexpr size_t mostStages = 64;
constexpr int mostNodes = 96;
constexpr int rankSize = 28; // of a rank's square and its margin

constexpr const char* styles = R"(
:root { color-scheme: light dark }
body { font: 14px/1.5 system-ui, sans-serif; max-width: 1000px;
  margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.5em; margin-bottom: 0 }
h2 { font-size: 1.15em; margin-top: 2em }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 1em 0 }
.tile { border: 1px solid #8886; border-radius: 6px; padding: 8px 14px }
.tile b { display: block; font-size: 1.3em }
.legend span { display: inline-block; margin-right: 1em }
.legend i { display: inline-block; width: 11px; height: 11px;
  margin-right: 5px; border-radius: 2px }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: 2px 12px; text-align: right; border-bottom: 1px solid #8883 }
td:first-child, th:first-child { text-align: left }
svg { max-width: 100%; height: auto }
svg text { font: 11px system-ui, sans-serif; fill: currentColor }
.over { color: #d33 }
)";

/// Colors of categories, also for readers who do not see all colors (Okabe and
/// Ito 2008).
constexpr const char* colors[] = {"#0072b2", "#56b4e9", "#009e73", "#e69f00",
                                  "#d55e00", "#cc79a7", "#999999", "#f0e442",
                                  "#5b4b8a", "#7a5c3e"};

const char* colorOf(size_t index) {
  return colors[index % std::size(colors)];
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char character : text)
    if (character == '<')
      result += "&lt;";
    else if (character == '>')
      result += "&gt;";
    else if (character == '&')
      result += "&amp;";
    else if (character == '"')
      result += "&quot;";
    else
      result += character;
  return result;
}

/// A named part of a bar.
struct Part {
  std::string name;
  double size;
  std::string text; // of the size
};

/// Rows of stacked parts. Parts of one name have one color, in the order in
/// which the names appear first.
class Bars {
public:
  /// `whole` is the size of a bar of full width.
  explicit Bars(double whole) : whole(whole) {}

  void add(const std::string& label, const std::vector<Part>& parts) {
    double at = labelWidth;
    std::string row = text(label, 0);
    for (const Part& part : parts) {
      const double width = part.size / whole * (pictureWidth - labelWidth);
      row += llvm::formatv(
          "<rect x='{0:f1}' y='{1}' width='{2:f1}' height='{3}' fill='{4}'>"
          "<title>{5}: {6} {7}</title></rect>\n",
          at, y, width, barHeight, colorOf(indexOf(part.name)), escaped(label),
          part.name, part.text);
      at += width;
    }
    rows += row;
    y += barHeight + 4;
  }

  /// Marks a size in all rows.
  void mark(double size, const std::string& name) {
    const double x = labelWidth + size / whole * (pictureWidth - labelWidth);
    rows += llvm::formatv("<line x1='{0:f1}' x2='{0:f1}' y1='0' y2='{1}' "
                          "stroke='#d33' stroke-dasharray='4 3'><title>{2}"
                          "</title></line>\n",
                          x, y, name);
  }

  std::string svg() const {
    std::string legend = "<p class='legend'>";
    for (size_t i = 0; i < names.size(); ++i)
      legend += llvm::formatv("<span><i style='background:{0}'></i>{1}</span>",
                              colorOf(i), names[i]);
    return llvm::formatv("<svg viewBox='0 0 {0} {1}' width='{0}'>\n",
                         pictureWidth, y)
               .str() +
           rows + "</svg>" + legend + "</p>\n";
  }

private:
  static constexpr int barHeight = 16;

  size_t indexOf(const std::string& name) {
    const auto found = std::ranges::find(names, name);
    if (found != names.end())
      return size_t(found - names.begin());
    names.push_back(name);
    return names.size() - 1;
  }

  std::string text(const std::string& label, double x) const {
    return llvm::formatv("<text x='{0}' y='{1}'>{2}</text>\n", x, y + 12,
                         escaped(label));
  }

  double whole;
  int y = 0;
  std::string rows;
  std::vector<std::string> names;
};

std::string tile(const std::string& name, const std::string& value) {
  return "<div class='tile'><b>" + value + "</b>" + name + "</div>\n";
}

std::string heading(const std::string& title, const std::string& sentence) {
  return "<h2>" + title + "</h2>\n<p>" + sentence + "</p>\n";
}

std::string stageLabel(size_t stage) {
  return "stage " + std::to_string(stage);
}

/// A sentence about the rows that a picture leaves out; empty if it has all.
std::string leftOut(size_t all, size_t most, const std::string& what) {
  if (all <= most)
    return "";
  return "<p>" + std::to_string(all - most) + " more " + what +
         " are not drawn.</p>\n";
}

// ---- the sections

std::string summary(const Compilation& compilation) {
  const cost::Estimate& estimate = compilation.estimate;
  const recipe::Recipe& recipe = compilation.recipe;
  const std::string device = recipe.string("cluster.hardware.name");
  std::string text = "<h1>" + escaped(recipe.name) + "</h1>\n<p>" +
                     std::to_string(estimate.ranks) + " × " + escaped(device) +
                     "; " + layoutText(recipe) + "; " +
                     formatCount(compilation.parameters.total) + " parameters";
  if (!recipe::serves(recipe))
    text += "; " + batchText(recipe);
  text += "</p>\n<div class='tiles'>\n" +
          tile("of " + formatBytes(estimate.memory.capacity) +
                   " a rank, the fullest stage",
               formatBytes(estimate.memory.total));
  if (estimate.stepSeconds > 0) {
    text += tile("a step, predicted", formatSeconds(estimate.stepSeconds));
    text +=
        tile("tokens/s of a rank",
             llvm::formatv("{0:n}", int64_t(estimate.tokensPerSecondPerRank)));
    if (recipe.string("cluster.hardware.kind") != "cpu")
      text += tile("MFU", percent(estimate.mfu));
    text += tile("communication", percent(estimate.communication));
    if (estimate.stages.size() > 1)
      text += tile("bubble", percent(estimate.bubble));
  }
  text += "</div>\n";
  if (recipe::serves(recipe))
    text += "<pre>" +
            escaped(servingLimitsText(recipe) + servingText(compilation)) +
            "</pre>\n";
  if (!compilation.fits())
    text += "<p class='over'>The plan does not fit in the memory of `" +
            escaped(device) + "`.</p>\n";
  return text;
}

std::string memorySection(const cost::Estimate& estimate) {
  int64_t whole = estimate.memory.capacity;
  for (const cost::MemoryTable& stage : estimate.stages)
    whole = std::max(whole, stage.total);
  Bars bars{double(std::max<int64_t>(1, whole))};
  std::string table = "<table><tr><th>stage</th>";
  for (const MemoryRow& row : memoryRows(estimate.memory))
    table += "<th>" + std::string(row.name) + "</th>";
  table += "<th>total</th></tr>\n";
  const size_t shown = std::min(mostStages, estimate.stages.size());
  for (size_t i = 0; i < shown; ++i) {
    const cost::MemoryTable& stage = estimate.stages[i];
    // Host memory of a GPU does not count towards the total.
    const bool countsHost =
        stage.total != stage.arena + stage.library + stage.draft;
    std::vector<Part> parts;
    table += "<tr><td>" + std::to_string(i) + "</td>";
    for (const MemoryRow& row : memoryRows(stage)) {
      table += "<td>" + formatBytes(row.bytes) + "</td>";
      const bool isHost = row.name == "host" || row.name == "offloaded";
      if (!isHost || countsHost)
        parts.push_back(
            {std::string(row.name), double(row.bytes), formatBytes(row.bytes)});
    }
    table += "<td>" + formatBytes(stage.total) + "</td></tr>\n";
    bars.add(stageLabel(i), parts);
  }
  bars.mark(double(estimate.memory.capacity),
            "capacity " + formatBytes(estimate.memory.capacity));
  return heading("Memory", "Of one rank of each stage. The dashed line is the "
                           "capacity, " +
                               formatBytes(estimate.memory.capacity) + ".") +
         bars.svg() + table + "</table>\n" +
         leftOut(estimate.stages.size(), mostStages, "stages");
}

/// Names the kind of an interval, which determines its color.
std::string kindOf(const Interval& interval) {
  if (interval.function.starts_with("forward"))
    return "forward";
  if (interval.function.starts_with("backward"))
    return "backward";
  return "update";
}

/// The rectangles of a stage's intervals: a path for each kind and chunk.
std::string timelineRow(const std::vector<Interval>& stage, double end,
                        double y, double height, int chunks) {
  const std::map<std::string, const char*> kinds = {
      {"forward", "#0072b2"}, {"backward", "#e69f00"}, {"update", "#cc79a7"}};
  constexpr double wide = 3, gap = 0.6; // wide intervals stand apart
  const double scale = (pictureWidth - labelWidth) / end;
  std::map<std::pair<std::string, int>, std::string> paths;
  for (const Interval& interval : stage) {
    double width = (interval.end - interval.begin) * scale;
    if (width <= 0)
      continue;
    width -= width > wide ? gap : 0;
    paths[{kindOf(interval), interval.chunk}] +=
        llvm::formatv("M{0:f2} {1}h{2:f2}v{3}h-{2:f2}z",
                      labelWidth + interval.begin * scale, y, width, height);
  }
  std::string text;
  for (const auto& [key, path] : paths) {
    // Later chunks of a stage are lighter.
    const double opacity = 1 - 0.6 * key.second / std::max(1, chunks);
    text += llvm::formatv("<path d='{0}' fill='{1}' fill-opacity='{2:f2}'/>\n",
                          path, kinds.at(key.first), opacity);
  }
  return text;
}

std::string timelineSection(const cost::Timeline& timeline) {
  constexpr double height = 18;
  const size_t shown = std::min(mostStages, timeline.stages.size());
  int chunks = 1;
  for (const std::vector<Interval>& stage : timeline.stages)
    for (const Interval& interval : stage)
      chunks = std::max(chunks, interval.chunk + 1);
  std::string rows;
  for (size_t i = 0; i < shown; ++i) {
    const double y = double(i) * (height + 4);
    rows += llvm::formatv("<text x='0' y='{0}'>{1}</text>\n", y + 13,
                          stageLabel(i));
    rows += timelineRow(timeline.stages[i], timeline.end, y, height, chunks);
  }
  const double bottom = double(shown) * (height + 4);
  rows += llvm::formatv("<text x='{0}' y='{1}'>0</text><text x='{2}' y='{1}' "
                        "text-anchor='end'>{3}</text>\n",
                        labelWidth, bottom + 14, pictureWidth,
                        formatSeconds(timeline.end));
  std::string sentence = "What each stage does in a step: "
                         "<b style='color:#0072b2'>forward</b>, "
                         "<b style='color:#e69f00'>backward</b>, "
                         "<b style='color:#cc79a7'>update</b>; gaps are waits.";
  if (chunks > 1)
    sentence += " Later chunks of a stage are lighter.";
  return heading("Pipeline", sentence) +
         llvm::formatv("<svg viewBox='0 0 {0} {1}' width='{0}'>\n",
                       pictureWidth, bottom + 18)
             .str() +
         rows + "</svg>\n" +
         leftOut(timeline.stages.size(), mostStages, "stages");
}

const char* nameOf(OpFamily family) {
  switch (family) {
  case OpFamily::activations:
    return "activations";
  case OpFamily::attention:
    return "attention";
  case OpFamily::collectives:
    return "collectives";
  case OpFamily::dense:
    return "matmuls";
  case OpFamily::experts:
    return "experts";
  case OpFamily::loss:
    return "loss";
  case OpFamily::moves:
    return "copies";
  case OpFamily::norms:
    return "norms";
  case OpFamily::optimizer:
    return "optimizer";
  case OpFamily::quantization:
    return "fp8 matmuls and casts";
  case OpFamily::sampling:
    return "sampling";
  case OpFamily::stateSpace:
    return "state space";
  }
  return "";
}

std::string timeSection(const cost::Prediction& times) {
  Bars bars(times.timeline.end);
  const size_t shown = std::min(mostStages, times.stages.size());
  for (size_t i = 0; i < shown; ++i) {
    std::vector<Part> parts;
    auto add = [&](const std::string& name, double seconds) {
      const double part = seconds / times.timeline.end;
      if (part >= 0.0005)
        parts.push_back(
            {name, seconds, formatSeconds(seconds) + ", " + percent(part)});
    };
    for (const auto& [family, seconds] : times.stages[i].busy)
      add(nameOf(family), seconds);
    std::ranges::stable_sort(parts, std::greater(), &Part::size);
    add("communication", times.stages[i].communication());
    add("copies to the host", times.stages[i].copies);
    add("waiting", times.stages[i].waiting);
    bars.add(stageLabel(i), parts);
  }
  return heading("Where the time goes",
                 "Of each stage in a step. Communication that "
                 "overlaps other work is not counted.") +
         bars.svg() + leftOut(times.stages.size(), mostStages, "stages");
}

/// `pp 1, dp 0, tp 3`: the coordinates of a rank on the axes longer than 1.
std::string coordinatesOf(const std::vector<ir::Axis>& axes, int rank,
                          int& stage) {
  std::string text;
  for (size_t i = axes.size(); i-- > 0;) {
    const int at = rank % axes[i].size;
    rank /= axes[i].size;
    if (axes[i].name == "pp")
      stage = at;
    if (axes[i].size > 1)
      text = axes[i].name + " " + std::to_string(at) +
             (text.empty() ? "" : ", ") + text;
  }
  return text;
}

/// The squares of a node's ranks, from (x, y) on.
std::string nodeRanks(const std::vector<ir::Axis>& axes, int first, int count,
                      int columns, int x, int y) {
  constexpr int gap = 3;
  std::string text;
  for (int i = 0; i < count; ++i) {
    int stage = 0;
    const std::string at = coordinatesOf(axes, first + i, stage);
    text += llvm::formatv(
        "<rect x='{0}' y='{1}' width='{2}' height='{2}' rx='3' fill='{3}'>"
        "<title>rank {4}: {5}</title></rect>\n",
        x + i % columns * rankSize, y + i / columns * rankSize, rankSize - gap,
        colorOf(size_t(stage)), first + i, at);
  }
  return text;
}

std::string meshSection(const Compilation& compilation) {
  const std::vector<ir::Axis>& axes = compilation.stages[0].axes;
  const int ranks = compilation.estimate.ranks;
  const int ofNode = int(std::clamp<int64_t>(
      compilation.recipe.integer("cluster.hardware.ranks_per_node"), 1, ranks));
  const int nodes = (ranks + ofNode - 1) / ofNode;
  constexpr int label = int(labelWidth), most = int(pictureWidth);
  const int columns = std::min(ofNode, (most - label) / rankSize);
  const int width = label + columns * rankSize + 16;
  const int height = (ofNode + columns - 1) / columns * rankSize + 6;
  const int inRow = std::max(1, most / width);
  const int shown = std::min(mostNodes, nodes);
  std::string squares;
  for (int node = 0; node < shown; ++node) {
    const int x = node % inRow * width, y = node / inRow * height;
    const int first = node * ofNode;
    squares += llvm::formatv("<text x='{0}' y='{1}'>node {2}</text>\n", x,
                             y + 17, node);
    squares += nodeRanks(axes, first, std::min(ofNode, ranks - first), columns,
                         x + label, y);
  }
  std::string order;
  for (const ir::Axis& axis : axes)
    if (axis.size > 1)
      order += (order.empty() ? "" : ", ") + axis.name;
  return heading("Ranks on nodes",
                 "A square is a rank; its color is the stage of the pipeline, "
                 "and its tooltip has its coordinates." +
                     (order.empty() ? ""
                                    : " From the axis that varies slowest: " +
                                          order + ".")) +
         llvm::formatv("<svg viewBox='0 0 {0} {1}' width='{0}'>\n", most,
                       (shown + inRow - 1) / inRow * height)
             .str() +
         squares + "</svg>\n" +
         leftOut(size_t(nodes), size_t(mostNodes), "nodes");
}

} // namespace

std::string planPage(const Compilation& compilation) {
  std::string body = summary(compilation) + memorySection(compilation.estimate);
  if (compilation.estimate.stepSeconds > 0) {
    const cost::Prediction times =
        cost::predict(compilation.stages, compilation.recipe);
    body += timelineSection(times.timeline) + timeSection(times);
  }
  return "<!doctype html>\n<html lang='en'>\n<meta charset='utf-8'>\n<title>" +
         escaped(compilation.recipe.name) + "</title>\n<style>" + styles +
         "</style>\n" + body + meshSection(compilation) + "</html>\n";
}

} // namespace recipec::driver
