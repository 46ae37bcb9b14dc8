// The inputs of a model that the compiler adds by itself.

#ifndef RECIPEC_PASSES_BUILD_INPUTS_H
#define RECIPEC_PASSES_BUILD_INPUTS_H

#include "compiler/ir/Ir.h"

#include <string_view>
#include <vector>

namespace recipec::passes {

/// The names of all of them, which no other value of a module takes.
std::vector<std::string_view> inputRoles();

/// The value of an input by its role, made and bound on the first call:
/// `tokens`, `labels`, `positions`, `segments`, `places` i32 [batch, sequence],
/// `weights` f32 [batch, sequence], `samples` i64 [batch], `loss_scale` f32 [].
/// The module has the dimensions `batch` and `sequence`.
ir::ValueId obtainInput(ir::Module& module, std::string_view role);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_INPUTS_H
