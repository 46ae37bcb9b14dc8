// What the call of an op says by its arguments, in the terms of ir.

#ifndef RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H
#define RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <map>
#include <string>
#include <string_view>

namespace recipec::passes {

/// An argument, which stdlib/ops.recipe declares.
const recipe::Value& at(const recipe::Call& call, std::string_view name);

/// A number, written whole or not.
double real(const recipe::Value& value);
double real(const recipe::Call& call, std::string_view name);

/// How the parameter of a call starts.
ir::Initializer initializer(const recipe::Call& call);

/// Whether the optimizer decays a call's parameter; `otherwise` where the call
/// leaves it to the op.
bool decays(const recipe::Call& call, bool otherwise);

/// The attributes of `rope` and of `route` that a call of `rope` or `router`
/// states: those that are not as if they were left out.
/// Heads of `rope` are of `width`.
ir::Attributes ropeAttributes(const recipe::Call& call, int64_t width);
ir::Attributes routeAttributes(const recipe::Call& call);

/// How many tokens of a sequence an expert takes: `capacity` times its even
/// share of the choices, rounded up, or all where there is none.
int64_t expertLimit(const recipe::Value& capacity, int64_t sequence,
                    int64_t choices, int64_t experts);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_CALLATTRIBUTES_H
