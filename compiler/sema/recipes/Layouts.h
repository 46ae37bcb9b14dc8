// The layouts of an elastic run: `cluster.ranks = [32, 24]` makes one for each
// count, of which the run takes the first that its hosts have slots for. A
// layout is the recipe with one more layer, as a point of a sweep is.

#ifndef RECIPEC_SEMA_RECIPES_LAYOUTS_H
#define RECIPEC_SEMA_RECIPES_LAYOUTS_H

#include "compiler/sema/recipes/Analyze.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

class Evaluator;
struct Axis;
struct Layer;
struct Object;

/// The counts of a recipe's ranks.
struct Layouts {
  std::vector<Layout> all; // the most ranks first; empty: one count
  SourceRange range;       // of the list
};

/// Reads the list from a recipe's settings, without a report: a broken list is
/// reported where the settings are evaluated.
Layouts layoutsOf(Evaluator& evaluator, Object& settings);

/// Whether the values of an axis set the number of ranks, too.
bool setsRanks(const Axis& axis);

/// The layer that sets the number of ranks.
const Layer* layoutLayer(Evaluator& evaluator, const Layout& layout);

/// `sft@cluster.ranks=24`; `sft@optimizer.lr=1e-5,cluster.ranks=24` for a point
/// of a sweep.
std::string nameOfLayout(std::string_view run, const Layout& layout);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_LAYOUTS_H
