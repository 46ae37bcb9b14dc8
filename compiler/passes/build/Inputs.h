// The model inputs that the compiler adds.

#ifndef RECIPEC_PASSES_BUILD_INPUTS_H
#define RECIPEC_PASSES_BUILD_INPUTS_H

#include "compiler/ir/Ir.h"

#include <string_view>
#include <vector>

namespace recipec::passes {

/// The roles of these inputs, which are reserved names in a module.
std::vector<std::string_view> inputRoles();

/// Returns the input with this role. The first call for a role adds and binds
/// it: `tokens`, `labels`, `further_labels`, `positions`, `segments`, `places`,
/// `adapters` i32 [batch, sequence], `weights`, `further_weights` f32 [batch,
/// sequence], `samples` i64 [batch], `loss_scale` f32 []. The module must have
/// the dimensions `batch` and `sequence`.
ir::ValueId obtainInput(ir::Module& module, std::string_view role);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_INPUTS_H
