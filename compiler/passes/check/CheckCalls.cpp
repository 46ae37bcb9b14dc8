// Checks all calls against a table of bounds; see CheckCalls.h.

#include "compiler/passes/check/CheckCalls.h"

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/recipe/Format.h"

#include <limits>
#include <set>
#include <string>
#include <string_view>

namespace recipec::passes {
namespace {

/// The argument must be at least `least`, or above it with `isAbove`, and below
/// `most`.
struct Bound {
  std::string_view op, argument;
  double least;
  bool isAbove;
  double most = std::numeric_limits<double>::infinity();
};

constexpr Bound bounds[] = {
    // A larger eps outweighs the mean square, so that nothing is normalised.
    {"rmsnorm", "eps", 0, false, 1},
    {"layernorm", "eps", 0, false, 1},
    {"l2norm", "eps", 0, false, 1},
    // Frequencies are powers of theta, and YaRN divides by its logarithm.
    {"rope", "theta", 1, true},
    {"position_scale", "floor", 0, true},
    {"softcap", "cap", 0, true},
    {"attention", "window", 1, false},
    {"attention", "chunk", 1, false},
    {"attention", "softcap", 0, true},
    {"attention", "scale", 0, true},
    {"router", "capacity", 0, true},
    {"router", "aux_loss", 0, false},
    {"router", "z_loss", 0, false},
};

std::string text(double bound) {
  return std::to_string(int64_t(bound));
}

/// `write a number above 0`, `write a number from 0 and below 1`
std::string rangeOf(const Bound& bound) {
  const bool hasMost = bound.most < std::numeric_limits<double>::infinity();
  return std::string("write a number ") + (bound.isAbove ? "above " : "from ") +
         text(bound.least) + (hasMost ? " and below " + text(bound.most) : "") +
         (hasMost         ? ", such as `1e-5`"
          : bound.isAbove ? ""
                          : " on");
}

} // namespace

void checkCalls(const recipe::Recipe& recipe, diag::Engine& engine) {
  std::set<std::string> reported;
  for (const recipe::Call& call : recipe.model.calls)
    for (const Bound& bound : bounds) {
      if (call.op != bound.op)
        continue;
      const recipe::Value& value = at(call, bound.argument);
      if (value.isNone() || value.isAuto())
        continue;
      double number = real(value);
      const bool isEnough =
          bound.isAbove ? number > bound.least : number >= bound.least;
      if (isEnough && number < bound.most)
        continue;
      std::string message = "`" + std::string(bound.argument) +
                            "` = " + recipe::formatValue(value, {}) + " of `" +
                            call.op + "` is " +
                            (isEnough        ? "not below "
                             : bound.isAbove ? "not above "
                                             : "below ") +
                            text(isEnough ? bound.most : bound.least);
      if (reported.insert(message).second)
        engine.report(diag::Kind::InvalidValue, call.range, std::move(message))
            .help(rangeOf(bound));
    }
}

} // namespace recipec::passes
