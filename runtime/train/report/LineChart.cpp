// 1. Find the ranges of steps and values, and the unit of the axis.
// 2. Choose round ticks; on a logarithmic axis 1, 2 and 5 of each decade.
// 3. Thin out the points of each line, and write paths. A gap in the values is
// a
//    gap in the line.

#include "runtime/train/report/LineChart.h"

#include "runtime/base/Text.h"
#include "runtime/train/report/Html.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace reciperun::train {
namespace {

// In pixels.
constexpr double pictureWidth = 560, pictureHeight = 240;
constexpr double left = 62, right = 12, top = 10, bottom = 34;

constexpr const char* dashes[] = {"none", "7 3", "2 3", "9 3 2 3"};
constexpr size_t colorCount = 6; // of the page's style sheet

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool isEmpty() const { return low > high; }
};

/// The unit in which an axis or a text shows values: value = number * size.
struct Unit {
  double size = 1;
  const char* name = "";
};

Unit unitOf(Quantity quantity, double largest) {
  constexpr double kibi = 1024;
  switch (quantity) {
  case Quantity::seconds:
    return largest < 1 ? Unit{1e-3, " ms"} : Unit{1, " s"};
  case Quantity::bytes:
    if (largest < kibi * kibi * kibi)
      return {kibi * kibi, " MiB"};
    return {kibi * kibi * kibi, " GiB"};
  case Quantity::ratio:
    return {0.01, " %"};
  case Quantity::number:
    if (largest >= 1e9)
      return {1e9, "G"};
    if (largest >= 1e6)
      return {1e6, "M"};
    return largest >= 1e4 ? Unit{1e3, "k"} : Unit{1, ""};
  }
  return {};
}

/// From a range of values to pixels from the bottom.
class Axis {
public:
  Axis(Range range, double pixels, bool isLogarithmic)
      : pixels(pixels), isLogarithmic(isLogarithmic) {
    low = scaled(range.low);
    high = scaled(range.high);
    const double largest = std::max(std::abs(low), std::abs(high));
    if (high - low <= leastRange * largest) { // a constant lies in the middle
      const double margin = largest == 0 ? 1 : largest / 10;
      low -= margin;
      high += margin;
    }
  }

  double at(double value) const {
    return (scaled(value) - low) / (high - low) * pixels;
  }

  /// Round values of the range, for a unit of size `unit`.
  std::vector<double> ticks(double unit) const {
    return isLogarithmic ? decades(unit) : steps(unit);
  }

private:
  /// Of the values; ticks of a smaller range would differ beyond the digits of
  /// their labels.
  static constexpr double leastRange = 1e-9;
  /// Decades with ticks.
  static constexpr double mostDecades = 7;

  double scaled(double value) const {
    return isLogarithmic ? std::log10(value) : value;
  }

  std::vector<double> steps(double unit) const {
    const double wanted = (high - low) / unit / 5;
    const double power = std::pow(10, std::floor(std::log10(wanted)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0})
      if (step < wanted)
        step = power * factor;
    std::vector<double> made;
    for (double i = std::ceil(low / unit / step - 1e-9);
         i * step * unit <= high + (high - low) * 1e-9; ++i)
      made.push_back(i * step * unit);
    return made;
  }

  std::vector<double> decades(double unit) const {
    std::vector<double> made;
    const bool isWide = high - low > 3;
    const double stride = std::ceil((high - low) / mostDecades);
    const double first = std::floor((low - std::log10(unit)) / stride) * stride;
    for (double power = first; power <= high - std::log10(unit);
         power += stride)
      for (const double factor : {1.0, 2.0, 5.0}) {
        const double value = factor * std::pow(10, power) * unit;
        if ((factor == 1 || !isWide) && std::log10(value) >= low - 1e-9 &&
            std::log10(value) <= high + 1e-9)
          made.push_back(value);
      }
    return made;
  }

  double pixels;
  bool isLogarithmic;
  double low = 0, high = 0; // scaled
};

std::string numberText(double value) {
  return formatted("%.4g", value == 0 ? 0 : value); // not -0
}

std::string inUnit(double value, const Unit& unit) {
  return numberText(value / unit.size) + unit.name;
}

/// Differences of larger values are not finite.
bool isDrawn(double value) {
  return std::abs(value) < 1e300;
}

Range valuesOf(const Series& series) {
  Range range;
  for (const Point& point : series.points)
    if (isDrawn(point.value))
      range.take(point.value);
  return range;
}

/// The lowest and the highest point of each column of pixels, in the order of
/// steps; a gap stays a gap.
std::vector<Point> thinned(const std::vector<Point>& points,
                           const Axis& steps) {
  std::vector<Point> made;
  for (size_t i = 0; i < points.size();) {
    const long column = std::lround(steps.at(double(points[i].step)));
    size_t lowest = i, highest = i, end = i;
    bool hasGap = false;
    for (; end < points.size() &&
           std::lround(steps.at(double(points[end].step))) == column;
         ++end) {
      hasGap |= !isDrawn(points[end].value);
      if (points[end].value < points[lowest].value)
        lowest = end;
      if (points[end].value > points[highest].value)
        highest = end;
    }
    if (end - i <= 2 || hasGap)
      made.insert(made.end(), points.begin() + long(i),
                  points.begin() + long(end));
    else
      for (const size_t each :
           {std::min(lowest, highest), std::max(lowest, highest)})
        made.push_back(points[each]);
    i = end;
  }
  return made;
}

class Drawing {
public:
  explicit Drawing(const LineChart& chart)
      : chart(chart), isLogarithmic(hasManyDecades(chart)),
        steps({double(chart.firstStep), double(chart.lastStep)},
              pictureWidth - left - right, false),
        values(allValuesOf(chart), pictureHeight - top - bottom, isLogarithmic),
        unit(unitOf(chart.quantity, largestOf(chart))) {}

  std::string content() const {
    return valueTicks() + stepTicks() + marks() + lines();
  }
  std::string axisNote() const {
    return isLogarithmic ? " The axis of values is logarithmic." : "";
  }

private:
  static Range allValuesOf(const LineChart& chart) {
    Range range;
    for (const Series& each : chart.series)
      if (const Range own = valuesOf(each); !own.isEmpty()) {
        range.take(own.low);
        range.take(own.high);
      }
    return range;
  }
  static double largestOf(const LineChart& chart) {
    const Range range = allValuesOf(chart);
    return std::max(std::abs(range.low), std::abs(range.high));
  }
  static bool hasManyDecades(const LineChart& chart) {
    const Range range = allValuesOf(chart);
    return range.low > 0 && range.high / range.low > 100;
  }

  double x(int64_t step) const { return left + steps.at(double(step)); }
  double y(double value) const {
    return pictureHeight - bottom - values.at(value);
  }

  std::string valueTicks() const {
    std::string made;
    for (const double value : values.ticks(unit.size))
      made += formatted("<line class='grid' x1='%.0f' x2='%.0f' y1='%.1f' "
                        "y2='%.1f'/><text x='%.0f' y='%.1f' "
                        "text-anchor='end'>%s</text>\n",
                        left, pictureWidth - right, y(value), y(value),
                        left - 6, y(value) + 4, inUnit(value, unit).c_str());
    return made;
  }

  std::string stepTicks() const {
    std::string made;
    for (const double step : steps.ticks(1)) {
      if (step != std::floor(step))
        continue;
      const double at = left + steps.at(step);
      made +=
          formatted("<line class='grid' x1='%.1f' x2='%.1f' y1='%.0f' "
                    "y2='%.0f'/><text x='%.1f' y='%.0f' "
                    "text-anchor='middle'>%.0f</text>\n",
                    at, at, pictureHeight - bottom, pictureHeight - bottom + 4,
                    at, pictureHeight - bottom + 16, step);
    }
    return made + formatted("<text x='%.0f' y='%.0f' text-anchor='end'>step"
                            "</text>\n",
                            pictureWidth - right, pictureHeight - 3);
  }

  std::string marks() const {
    std::string made;
    for (const Mark& mark : chart.marks)
      made +=
          formatted("<line class='mark' x1='%.1f' x2='%.1f' y1='%.0f' "
                    "y2='%.0f'><title>",
                    x(mark.step), x(mark.step), top, pictureHeight - bottom) +
          escaped(mark.text) + "</title></line>\n";
    return made;
  }

  std::string lines() const {
    std::string made;
    for (const Series& each : chart.series)
      made += lineOf(each);
    return made;
  }

  std::string lineOf(const Series& series) const {
    std::string path, dots;
    bool isOpen = false;
    const std::vector<Point> points = thinned(series.points, steps);
    for (size_t i = 0; i < points.size(); ++i) {
      if (!isDrawn(points[i].value)) {
        isOpen = false;
        continue;
      }
      const double px = x(points[i].step), py = y(points[i].value);
      path += formatted("%c%.1f %.1f", isOpen ? 'L' : 'M', px, py);
      isOpen = true;
      if (points.size() <= mostDots)
        dots += formatted("<circle cx='%.1f' cy='%.1f' r='2'><title>", px, py) +
                escaped(series.name) + ", step " +
                std::to_string(points[i].step) + ": " +
                textOf(points[i].value, chart.quantity) + "</title></circle>";
    }
    return "<g " + styleOf(series.style) + "><path d='" + path + "'/>" + dots +
           "</g>\n";
  }

  /// More points are shown as a line alone.
  static constexpr size_t mostDots = 60;

  const LineChart& chart;
  const bool isLogarithmic;
  const Axis steps, values;
  const Unit unit;
};

/// `RUN: 5.2 at step 1, 3.1 at step 40; lowest 3.0, highest 5.3.`
std::string describe(const Series& series, Quantity quantity) {
  const auto isFinite = [](const Point& p) { return isDrawn(p.value); };
  const auto first = std::ranges::find_if(series.points, isFinite);
  if (first == series.points.end())
    return {};
  const auto last =
      std::find_if(series.points.rbegin(), series.points.rend(), isFinite);
  const Range range = valuesOf(series);
  return " " + series.name + ": " + textOf(first->value, quantity) +
         " at step " + std::to_string(first->step) + ", " +
         textOf(last->value, quantity) + " at step " +
         std::to_string(last->step) + "; lowest " +
         textOf(range.low, quantity) + ", highest " +
         textOf(range.high, quantity) + ".";
}

} // namespace

bool hasValues(const LineChart& chart) {
  return std::ranges::any_of(chart.series, [](const Series& each) {
    return !valuesOf(each).isEmpty();
  });
}

std::string textOf(double value, Quantity quantity) {
  return inUnit(value, unitOf(quantity, std::abs(value)));
}

std::string styleOf(size_t style) {
  return "class='line c" + std::to_string(style % colorCount) +
         "' stroke-dasharray='" + dashes[style % std::size(dashes)] + "'";
}

std::string svgOf(const LineChart& chart, const std::string& id) {
  const Drawing drawing(chart);
  std::string description = "Over steps.";
  for (const Series& each : chart.series)
    description += describe(each, chart.quantity);
  for (const Mark& mark : chart.marks)
    description += " " + mark.text + ".";
  return formatted("<svg viewBox='0 0 %.0f %.0f' role='img' "
                   "aria-labelledby='%s-title %s-text'>\n",
                   pictureWidth, pictureHeight, id.c_str(), id.c_str()) +
         "<title id='" + id + "-title'>" + escaped(chart.title) +
         "</title>\n<desc id='" + id + "-text'>" +
         escaped(description + drawing.axisNote()) + "</desc>\n" +
         drawing.content() + "</svg>\n";
}

} // namespace reciperun::train
