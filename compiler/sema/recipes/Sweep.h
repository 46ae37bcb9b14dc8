// The sweep of a recipe: axes, and the plans at their points.
//
//   sweep { optimizer.lr = [1e-5, 2e-5]  parallel = [{ tp = 2 }, { tp = 4 }] }
//
// An axis is a path and a list of values; a point takes one value of each. The
// points are the product of the axes in the order written, the last axis
// turning fastest. A point is the recipe with one layer more.

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
/// The longest name of a point in bytes: plans and runs are files of the name.
inline constexpr size_t maxPointName = 200;

/// `parallel.tp` of a value `{ tp = 2 }` on the axis `parallel`.
struct Setting {
  std::vector<ast::Name> path;
  Value value;
  std::string text; // of the value, in a point's name
};

/// A value of an axis: a record sets each of its leaves.
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

/// The sweep of a recipe's settings; without axes where it has none, and
/// nothing when it is not well-formed, which is reported. What an override sets
/// is no longer swept over.
std::optional<Sweep> sweepOf(Evaluator& evaluator, const std::string& recipe,
                             Object& settings,
                             const std::vector<Override>& overrides);

/// What a point sets, its name included.
const Layer* pointLayer(Evaluator& evaluator, const Sweep& sweep, size_t point);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_SWEEP_H
