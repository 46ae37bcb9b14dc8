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

constexpr double unbounded = std::numeric_limits<double>::infinity();

/// The bounds of an argument: at least `least`, or above it with `isAbove`, and
/// below `most`.
struct Bound {
  std::string_view op, argument;
  double least;
  bool isAbove;
  double most = unbounded;
  bool mayBeNone = false;
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
    {"attention", "window", 1, false, unbounded, true},
    {"attention", "chunk", 1, false, unbounded, true},
    {"attention", "softcap", 0, true, unbounded, true},
    {"attention", "scale", 0, true},
    {"router", "capacity", 0, true, unbounded, true},
    {"router", "aux_loss", 0, false},
    {"router", "z_loss", 0, false},
    {"further_loss", "factor", 0, true},
};

std::string text(double bound) {
  return std::to_string(int64_t(bound));
}

/// `write a number above 0`, `write a number from 0 and below 1`, `write
/// `none` for no window, or a number from 1 on`
std::string rangeOf(const Bound& bound) {
  const bool hasMost = bound.most < unbounded;
  const std::string none =
      bound.mayBeNone ? "`none` for no " + std::string(bound.argument) + ", or "
                      : std::string();
  return "write " + none + "a number " + (bound.isAbove ? "above " : "from ") +
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
      if (!reported.insert(message).second)
        continue;
      const SourceRange given = value.origin.range;
      auto builder = engine.report(diag::Kind::InvalidValue,
                                   given.isValid() ? given : call.range,
                                   std::move(message));
      const bool isInCall = given.source == call.range.source &&
                            call.range.begin <= given.begin &&
                            given.end <= call.range.end;
      if (given.isValid() && !isInCall)
        builder.label(call.range, "in this call");
      builder.help(rangeOf(bound));
    }
}

} // namespace recipec::passes
