// Errors of the step model that full compilations have shown.

#ifndef RECIPEC_SEARCH_CORRECTIONS_H
#define RECIPEC_SEARCH_CORRECTIONS_H

#include "compiler/search/Layout.h"
#include "compiler/search/Outcome.h"
#include "compiler/search/StepModel.h"

#include <map>
#include <utility>

namespace recipec::search {

/// Means of compiled / predicted, by the kind of the pipeline.
class Corrections {
public:
  void learn(const Layout& layout, const Prediction& prediction,
             const Outcome& outcome);

  /// Multiplies by the mean of layouts with equal `pp` and `vp`; if there are
  /// none, of those that interleave alike; else of all.
  Prediction apply(const Layout& layout, const Prediction& prediction) const;

private:
  struct Mean {
    double seconds = 0; // sums of ratios
    double bytes = 0;
    double count = 0;
  };
  const Mean* meanFor(const Layout& layout) const;

  std::map<std::pair<int64_t, int64_t>, Mean> byPipeline; // pp, vp
  std::map<std::pair<bool, bool>, Mean> byKind;           // pp > 1, vp > 1
  Mean all;
};

} // namespace recipec::search

#endif // RECIPEC_SEARCH_CORRECTIONS_H
