// Errors of the step model, learnt from full compilations.

#ifndef RECIPEC_SEARCH_CORRECTIONS_H
#define RECIPEC_SEARCH_CORRECTIONS_H

#include "compiler/search/Layout.h"
#include "compiler/search/Outcome.h"
#include "compiler/search/StepModel.h"

#include <map>
#include <utility>

namespace recipec::search {

/// The mean ratio of compiled to predicted values, by kind of pipeline.
class Corrections {
public:
  void learn(const Layout& layout, const Prediction& prediction,
             const Outcome& outcome);

  /// Multiplies the prediction by the mean ratio of layouts with the same `pp`
  /// and `vp`. If there are none, uses the layouts that agree in `pp` > 1 and
  /// `vp` > 1, or else all layouts.
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
