// A chart of values over steps as SVG.

#ifndef RECIPERUN_TRAIN_REPORT_LINECHART_H
#define RECIPERUN_TRAIN_REPORT_LINECHART_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::train {

/// What the values are, which chooses the unit of the axis.
enum class Quantity { number, seconds, bytes, ratio };

struct Point {
  int64_t step = 0;
  double value = 0; // NaN interrupts the line
};

struct Series {
  std::string name;
  size_t style = 0; // of the line: see styleOf()
  std::vector<Point> points;
};

/// A vertical line.
struct Mark {
  int64_t step = 0;
  std::string text;
};

struct LineChart {
  std::string title;
  Quantity quantity = Quantity::number;
  std::vector<Series> series; // those without a finite value are not drawn
  std::vector<Mark> marks;
  int64_t firstStep = 0, lastStep = 0; // of the axis
};

/// Whether there is a finite value to draw.
bool hasValues(const LineChart& chart);

/// A value with its unit, as the axes and the tables show it.
std::string textOf(double value, Quantity quantity);

/// The attributes of the line of a series: a color of the page's style sheet,
/// and dashes for readers who do not see the colors apart.
std::string styleOf(size_t style);

/// The picture with its title and a description for screen readers. `id` is
/// unique in the page. Of many points in a pixel's column the lowest and the
/// highest are drawn. The axis is logarithmic when positive values range over
/// more than two decades.
std::string svgOf(const LineChart& chart, const std::string& id);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_REPORT_LINECHART_H
