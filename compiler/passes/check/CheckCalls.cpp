// Checks all calls against a table of bounds; see CheckCalls.h.

#include "compiler/passes/check/CheckCalls.h"

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/recipe/Format.h"

#include <set>
#include <string>
#include <string_view>

namespace recipec::passes {
namespace {

/// The argument must be at least `least`, or above it with `isAbove`.
struct Bound {
  std::string_view op, argument;
  double least;
  bool isAbove;
};

constexpr Bound bounds[] = {
    {"rmsnorm", "eps", 0, false},
    {"layernorm", "eps", 0, false},
    {"l2norm", "eps", 0, false},
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
      if (bound.isAbove ? number > bound.least : number >= bound.least)
        continue;
      std::string message = "`" + std::string(bound.argument) +
                            "` = " + recipe::formatValue(value, {}) + " of `" +
                            call.op + "` is " +
                            (bound.isAbove ? "not above " : "below ") +
                            std::to_string(int64_t(bound.least));
      if (reported.insert(message).second)
        engine.report(diag::Kind::InvalidValue, call.range, std::move(message));
    }
}

} // namespace recipec::passes
