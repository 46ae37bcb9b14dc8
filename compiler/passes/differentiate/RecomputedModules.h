// The parts of a layer that `memory.recompute_modules` names.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H
#define RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string_view>
#include <vector>

namespace recipec::passes {

/// Marks the ops of `forward` (of a Graph or a Program) that belong to a part;
/// one entry per op. `"mla_up"` has the ops between the latents of multi-head
/// latent attention (DeepSeek-AI 2024, section 2.1) and its queries, keys and
/// values.
std::vector<bool> opsOfModule(const ir::Module& module, std::string_view part);

/// Marks the ops of a Program's `forward` that compute rows of the second pass
/// of experts, after those that pack them.
std::vector<bool> opsOfSecondPass(const ir::Module& module);

/// Marks the ops of a Program's `forward` whose results a state-space mixer
/// need not save, as in the kernels of Dao and Gu (2024): convolutions with
/// their biases and activations, scans, and their gates.
std::vector<bool> opsOfStateSpaces(const ir::Module& module);

/// Reports each part that the recipe names and the model lacks.
void checkRecompute(const ir::Module& graph, const recipe::Recipe& recipe,
                    diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H
