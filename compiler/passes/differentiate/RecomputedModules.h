// The parts of a layer that `memory.recompute_modules` names.

#ifndef RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H
#define RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string_view>
#include <vector>

namespace recipec::passes {

/// Which ops of `forward`, of a Graph or a Program, are of a part; one entry an
/// op. `"mla_up"` is what stands between the latents of multi-head latent
/// attention (DeepSeek-AI 2024, section 2.1) and its queries, keys and values.
std::vector<bool> opsOfModule(const ir::Module& module, std::string_view part);

/// Which ops of `forward`, of a Program, make rows of experts of the second
/// pass out of those that it packs.
std::vector<bool> opsOfSecondPass(const ir::Module& module);

/// Reports each part that the recipe names and the model has not.
void checkRecompute(const ir::Module& graph, const recipe::Recipe& recipe,
                    diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DIFFERENTIATE_RECOMPUTEDMODULES_H
