// 1. The axes: ranks on a scale of powers of two, tokens/s of a rank from 0.
// 2. A line and its points for each kind of scaling.
// 3. The legend. Lengths are in pixels.

#include "compiler/driver/ScaleChart.h"

#include "compiler/driver/EstimateReport.h"
#include "compiler/driver/ReportLines.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

namespace recipec::driver {
namespace {

constexpr double width = 760, height = 420;
constexpr double left = 76, right = 24, top = 64, bottom = 56; // margins
/// Colors of Okabe and Ito 2008, for readers who do not see all colors.
constexpr const char* weakColor = "#0072b2";
constexpr const char* strongColor = "#d55e00";

std::string textAt(double x, double y, const char* anchor,
                   const std::string& text) {
  return llvm::formatv("<text x='{0:f1}' y='{1:f1}' text-anchor='{2}'>{3}"
                       "</text>\n",
                       x, y, anchor, text);
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `value`.
double roundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value)
      return factor * power;
  return 10 * power;
}

class Chart {
public:
  explicit Chart(const ScaleReport& report) : report(report) {
    for (const ScalePoint& point : report.points) {
      most = std::max(most, point.outcome.tokensPerSecondPerRank);
      lastRanks = std::max(lastRanks, point.ranks);
      firstRanks =
          firstRanks == 0 ? point.ranks : std::min(firstRanks, point.ranks);
    }
    step = roundStep(std::max(most, 1e-9) / 6);
    most = step * std::ceil(1.02 * most / step);
  }

  std::string svg() const {
    return llvm::formatv(
               "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' "
               "width='{0}' height='{1}' font-family='sans-serif' "
               "font-size='12'>\n<rect width='{0}' height='{1}' "
               "fill='white'/>\n",
               width, height)
               .str() +
           axes() + perfect() + line(true) + line(false) + legend() +
           "</svg>\n";
  }

private:
  double xOf(int64_t ranks) const {
    const double span =
        std::max(1.0, std::log2(double(lastRanks) / double(firstRanks)));
    return left + (width - left - right) *
                      std::log2(double(ranks) / double(firstRanks)) / span;
  }
  double yOf(double rate) const {
    return height - bottom - (height - top - bottom) * rate / most;
  }

  std::string horizontal(double rate, const char* style) const {
    return llvm::formatv("<line x1='{0}' x2='{1}' y1='{2:f1}' y2='{2:f1}' "
                         "{3}/>\n",
                         left, width - right, yOf(rate), style);
  }

  std::string axes() const {
    std::string text =
        textAt(left, 24, "start", report.recipe.name + ": tokens/s of a rank");
    for (int tick = 0; tick * step <= most * 1.0001; ++tick) {
      text += horizontal(tick * step, "stroke='#ddd'");
      text += textAt(left - 8, yOf(tick * step) + 4, "end",
                     formatted("%.6g", tick * step));
    }
    for (int64_t ranks = firstRanks; ranks > 0 && ranks <= lastRanks;
         ranks *= 2)
      text += textAt(xOf(ranks), height - bottom + 20, "middle",
                     std::to_string(ranks));
    return text +
           textAt((left + width - right) / 2, height - 12, "middle", "ranks");
  }

  /// The rate of the fewest ranks.
  std::string perfect() const {
    for (const ScalePoint& point : report.points)
      if (point.efficiency > 0)
        return horizontal(point.outcome.tokensPerSecondPerRank,
                          "stroke='#777' stroke-dasharray='5 4'");
    return "";
  }

  std::string line(bool isWeak) const {
    const char* color = isWeak ? weakColor : strongColor;
    std::string places, marks;
    for (const ScalePoint* point : report.of(isWeak)) {
      if (point->efficiency <= 0)
        continue;
      const double x = xOf(point->ranks);
      const double y = yOf(point->outcome.tokensPerSecondPerRank);
      places += llvm::formatv("{0:f1},{1:f1} ", x, y);
      marks += llvm::formatv(
          "<circle cx='{0:f1}' cy='{1:f1}' r='4' stroke='{2}' fill='{3}'>"
          "<title>{4} ranks: {5} of the first, {6} s a step{7}</title>"
          "</circle>\n",
          x, y, color, point->outcome.fits() ? color : "white", point->ranks,
          percent(point->efficiency),
          formatted("%.4g", point->outcome.stepSeconds),
          point->outcome.fits() ? "" : ", does not fit");
    }
    return llvm::formatv("<polyline points='{0}' fill='none' stroke='{1}' "
                         "stroke-width='2'/>\n",
                         places, color)
               .str() +
           marks;
  }

  std::string legend() const {
    std::string text;
    double x = left;
    for (const auto& [name, color] :
         {std::pair<const char*, const char*>{"weak scaling", weakColor},
          {"strong scaling", strongColor}}) {
      text += llvm::formatv("<circle cx='{0:f1}' cy='44' r='4' fill='{1}'/>\n",
                            x + 4, color);
      text += textAt(x + 14, 48, "start", name);
      x += 130;
    }
    return text + textAt(x, 48, "start",
                         "hollow: does not fit; dashed: perfect scaling");
  }

  const ScaleReport& report;
  double most = 0; // tokens/s at the top
  double step = 1; // between two ticks
  int64_t firstRanks = 0, lastRanks = 0;
};

} // namespace

std::string scaleChart(const ScaleReport& report) {
  return Chart(report).svg();
}

} // namespace recipec::driver
