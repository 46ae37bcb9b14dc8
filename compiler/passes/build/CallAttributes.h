// Reads the arguments of an op's call as IR attributes and initializers.

#ifndef RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H
#define RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <map>
#include <string>
#include <string_view>

namespace recipec::passes {

/// An argument that stdlib/ops.recipe declares.
const recipe::Value& at(const recipe::Call& call, std::string_view name);

/// A number, written as an integer or a decimal.
double real(const recipe::Value& value);
double real(const recipe::Call& call, std::string_view name);

/// The initializer of a call's parameter.
ir::Initializer initializer(const recipe::Call& call);

/// Whether weight decay applies to a call's parameter; `otherwise` when the
/// call does not say.
bool decays(const recipe::Call& call, bool otherwise);

/// The attributes of `rope` and `route` for a call of `rope` or `router`,
/// without those that equal their defaults. Heads of `rope` have `width`
/// elements.
ir::Attributes ropeAttributes(const recipe::Call& call, int64_t width);
ir::Attributes routeAttributes(const recipe::Call& call);

/// The most tokens of a sequence that an expert takes: `capacity` times its
/// even share of the choices, rounded up; all tokens when `capacity` is `none`.
int64_t expertLimit(const recipe::Value& capacity, int64_t sequence,
                    int64_t choices, int64_t experts);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H
