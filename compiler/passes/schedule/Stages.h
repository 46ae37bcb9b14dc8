// Cuts a Program into those of the pipeline's stages.

#ifndef RECIPEC_PASSES_SCHEDULE_STAGES_H
#define RECIPEC_PASSES_SCHEDULE_STAGES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// `forward`, or `forward.1` of the second of a stage's several chunks.
std::string chunkFunction(const std::string& name, int chunk, int chunks);

/// Layers of each of the model's chunks, in its order; a single one has all
/// that `forward` runs, whether or not the model says how many these are.
std::vector<int64_t> layersOfChunks(const recipe::Recipe& recipe);

/// One Program a stage, of the layers that `parallel.chunk_layers` gives to its
/// chunks: chunk i of the model is chunk i / pp of stage i % pp. What stands
/// before the first layer joins the first chunk, what stands behind the last
/// one the last. Each has the functions `forward`, `backward` and `evaluate` of
/// each of its chunks, the parameters and gradients that they use, and a
/// transfer for every value that another stage makes or reads. The loss is a
/// partial sum over `pp`. One stage gets the Program as it is. Reports a value
/// that goes from one chunk of a stage to another of it, of which there are
/// none where each layer reads what the one before it makes.
std::vector<ir::Module> splitStages(ir::Module whole,
                                    const recipe::Recipe& recipe,
                                    diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_STAGES_H
