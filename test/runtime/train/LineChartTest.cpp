// Charts of values over steps: axes, gaps, and many points.

#include "runtime/train/report/LineChart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <regex>
#include <string>
#include <vector>

namespace reciperun::train {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

LineChart chartOf(std::vector<double> values,
                  Quantity quantity = Quantity::number) {
  LineChart chart{"Title", quantity, {{"<run>", 0, {}}},
                  {},      1,        int64_t(values.size())};
  for (size_t i = 0; i < values.size(); ++i)
    chart.series[0].points.push_back({int64_t(i) + 1, values[i]});
  return chart;
}

/// The labels of the axis of values, from the lowest.
std::vector<std::string> labelsOf(const LineChart& chart) {
  const std::string svg = svgOf(chart, "a");
  const std::regex label("text-anchor='end'>([^<]*)</text>");
  std::vector<std::string> found;
  for (std::sregex_iterator each(svg.begin(), svg.end(), label), end;
       each != end; ++each)
    found.push_back((*each)[1]);
  found.pop_back(); // `step`
  return found;
}

std::string pathOf(const LineChart& chart) {
  const std::string svg = svgOf(chart, "a");
  const size_t begin = svg.find(" d='") + 4;
  return svg.substr(begin, svg.find('\'', begin) - begin);
}

size_t countOf(const std::string& text, char letter) {
  return size_t(std::ranges::count(text, letter));
}

using Labels = std::vector<std::string>;

TEST(LineChart, HasRoundTicks) {
  EXPECT_EQ(labelsOf(chartOf({1, 5.2, 3})), (Labels{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(labelsOf(chartOf({-1, 1})),
            (Labels{"-1", "-0.5", "0", "0.5", "1"}));
  EXPECT_EQ(labelsOf(chartOf({0.011, 0.03}, Quantity::seconds)),
            (Labels{"15 ms", "20 ms", "25 ms", "30 ms"}));
  EXPECT_EQ(labelsOf(chartOf({0, 3 * 1073741824.0}, Quantity::bytes)),
            (Labels{"0 GiB", "1 GiB", "2 GiB", "3 GiB"}));
  EXPECT_EQ(labelsOf(chartOf({0.2, 0.4}, Quantity::ratio)),
            (Labels{"20 %", "25 %", "30 %", "35 %", "40 %"}));
}

TEST(LineChart, IsLogarithmicOverManyDecades) {
  EXPECT_EQ(labelsOf(chartOf({0.5, 60})),
            (Labels{"0.5", "1", "2", "5", "10", "20", "50"}));
  EXPECT_EQ(labelsOf(chartOf({1e-6, 1e-2})),
            (Labels{"1e-06", "1e-05", "0.0001", "0.001", "0.01"}));
  EXPECT_LE(labelsOf(chartOf({1e-290, 1e290})).size(), 8u);
  EXPECT_NE(svgOf(chartOf({0.5, 60}), "a").find("is logarithmic"),
            std::string::npos);
}

TEST(LineChart, DrawsAConstantInTheMiddle) {
  for (const double value : {0.0, 3.0, -2e-9, 1e17}) {
    EXPECT_EQ(pathOf(chartOf({value, value})), "M62.0 108.0L548.0 108.0");
    EXPECT_LE(labelsOf(chartOf({value, value})).size(), 12u);
  }
  EXPECT_EQ(pathOf(chartOf({7})), "M305.0 108.0"); // one step
  // Neighbours among the floating-point numbers.
  EXPECT_LE(labelsOf(chartOf({1e17, 1e17 + 16})).size(), 12u);
}

TEST(LineChart, LeavesAGap) {
  EXPECT_EQ(countOf(pathOf(chartOf({1, 2, none, 3, 4})), 'M'), 2u);
  EXPECT_EQ(countOf(pathOf(chartOf({1, 1e305, 2})), 'M'), 2u);
  EXPECT_TRUE(hasValues(chartOf({none, 1})));
  EXPECT_FALSE(hasValues(chartOf({none, none})));
  EXPECT_FALSE(hasValues(chartOf({})));
}

TEST(LineChart, KeepsTheExtremesOfManyPoints) {
  std::vector<double> values(100000, 1);
  values[54321] = 9;
  values[54322] = -3;
  const LineChart chart = chartOf(values);
  const std::string path = pathOf(chart);
  EXPECT_LT(countOf(path, 'L'), 1000u);
  EXPECT_NE(path.find(" 10.0"), std::string::npos) << "the highest";
  EXPECT_NE(path.find(" 206.0"), std::string::npos) << "the lowest";
  EXPECT_EQ(svgOf(chart, "a").find("circle"), std::string::npos);
}

TEST(LineChart, DescribesItselfToScreenReaders) {
  LineChart chart = chartOf({4, none, 2, 3});
  chart.marks.push_back({2, "resume at step 2"});
  const std::string svg = svgOf(chart, "id7");
  EXPECT_NE(svg.find("role='img' aria-labelledby='id7-title id7-text'"),
            std::string::npos);
  EXPECT_NE(svg.find("<title id='id7-title'>Title</title>"), std::string::npos);
  EXPECT_NE(svg.find("<desc id='id7-text'>Over steps. &lt;run&gt;: 4 at step "
                     "1, 3 at step 4; lowest 2, highest 4. resume at step "
                     "2.</desc>"),
            std::string::npos)
      << svg;
}

} // namespace
} // namespace reciperun::train
