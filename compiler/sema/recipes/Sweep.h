// The sweep of a recipe: axes, and the plans at their points.
//
//   sweep { optimizer.lr = [1e-5, 2e-5]  parallel = [{ tp = 2 }, { tp = 4 }] }
//
// An axis is a path and a list of values. A point takes one value from each
// axis. The points are the Cartesian product of the axes as written; the last
// axis varies fastest. A point is the recipe with one more layer.

#ifndef RECIPEC_SEMA_RECIPES_SWEEP_H
#define RECIPEC_SEMA_RECIPES_SWEEP_H

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/recipes/Analyze.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::sema {

/// The most points that a sweep may have.
inline constexpr size_t maxPoints = 1000;
/// The longest name of a point in bytes. Plans and runs use it as a file name.
inline constexpr size_t maxPointName = 200;

/// One field that an axis value sets: `parallel.tp` for the value `{ tp = 2 }`
/// on the axis `parallel`.
struct Setting {
  std::vector<ast::Name> path;
  Value value;
  std::string text; // of the value, in a point's name
};

/// One value of an axis. A record sets each of its leaves.
struct AxisValue {
  std::vector<Setting> settings;
  std::string name;  // `parallel.tp=4,parallel.pp=2`
  SourceRange range; // of the element
};

struct Axis {
  std::string path;
  SourceRange range;
  std::vector<AxisValue> values;
};

struct Sweep {
  std::string recipe; // the name of the recipe
  std::vector<Axis> axes;

  size_t count() const;
  /// The value of the axis at a point.
  const AxisValue& at(size_t axis, size_t point) const;
  /// `sft@optimizer.lr=1e-5,parallel.tp=2`
  std::string nameOf(size_t point) const;
};

/// Reads the sweep from a recipe's settings; has no axes when the recipe has no
/// sweep. Returns nullopt (reported) when the sweep is malformed. Fields set by
/// an override are no longer swept.
std::optional<Sweep> sweepOf(Evaluator& evaluator, const std::string& recipe,
                             Object& settings,
                             const std::vector<Override>& overrides);

/// The layer of settings at a point, including the point's name.
const Layer* pointLayer(Evaluator& evaluator, const Sweep& sweep, size_t point);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_SWEEP_H
