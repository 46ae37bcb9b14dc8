// Reads Prometheus' text format, for tests.

#ifndef RECIPERUN_TEST_SERVER_METRICSTEXT_H
#define RECIPERUN_TEST_SERVER_METRICSTEXT_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

namespace reciperun::server {

struct MetricsText {
  explicit MetricsText(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("# HELP "))
        continue;
      const size_t space = line.rfind(' ');
      if (line.starts_with("# TYPE ")) {
        const bool isNew =
            types.emplace(line.substr(7, space - 7), line.substr(space + 1))
                .second;
        EXPECT_TRUE(isNew) << "a second " << line;
      } else {
        const bool isNew =
            values.emplace(line.substr(0, space), std::atof(&line[space + 1]))
                .second;
        EXPECT_TRUE(isNew) << "a second " << line;
      }
    }
  }

  /// Of `name{labels}`.
  double value(const std::string& series) const {
    const auto found = values.find(series);
    EXPECT_NE(found, values.end()) << series;
    return found == values.end() ? -1 : found->second;
  }

  std::map<std::string, std::string> types; // by name
  std::map<std::string, double> values;     // by series
};

} // namespace reciperun::server

#endif // RECIPERUN_TEST_SERVER_METRICSTEXT_H
