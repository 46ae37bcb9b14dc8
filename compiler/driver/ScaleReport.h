// The output of `scale`, as text and as JSON.

#ifndef RECIPEC_DRIVER_SCALEREPORT_H
#define RECIPEC_DRIVER_SCALEREPORT_H

#include "compiler/recipe/Recipe.h"
#include "compiler/search/Outcome.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace recipec::driver {

/// The prediction for a number of ranks.
struct ScalePoint {
  int64_t ranks = 0;
  int64_t globalBatch = 0; // sequences
  bool isWeak = false;     // whether the batch grows with the ranks
  search::Outcome outcome = {};
  /// Tokens/s per rank relative to that of the fewest ranks; 0 without an
  /// outcome.
  double efficiency = 0;
  std::string reason = {}; // why there is no outcome; empty if there is one
};

struct ScaleReport {
  const recipe::Recipe& recipe;
  std::vector<ScalePoint> points; // weak scaling first, each by ranks

  /// Sets the efficiencies.
  void compareWithFirst();
  std::vector<const ScalePoint*> of(bool isWeak) const;
};

/// A table of each kind of scaling.
std::string scaleText(const ScaleReport& report);

nlohmann::ordered_json scaleJson(const ScaleReport& report);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SCALEREPORT_H
