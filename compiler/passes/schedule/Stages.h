// Splits a Program into the Programs of the pipeline's stages.

#ifndef RECIPEC_PASSES_SCHEDULE_STAGES_H
#define RECIPEC_PASSES_SCHEDULE_STAGES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <vector>

namespace recipec::passes {

/// The function of a chunk: `forward`, or `forward.1` for the second of several
/// chunks of a stage.
std::string chunkFunction(const std::string& name, int chunk, int chunks);

/// The number of layers of each of the model's chunks, in order. A single chunk
/// has all layers that `forward` runs, whether or not the model declares their
/// number.
std::vector<int64_t> layersOfChunks(const recipe::Recipe& recipe);

/// Returns one Program per stage, with the layers that `parallel.chunk_layers`
/// gives to its chunks: chunk i of the model is chunk i / pp of stage i % pp.
/// Ops before the first layer join the first chunk, ops after the last layer
/// the last chunk. A stage's Program has the functions of each of its chunks
/// (`forward`, `backward` and `evaluate`, or those of serving steps), the
/// parameters and gradients that they use, and a transfer for every value that
/// another stage makes or reads. The loss is a partial sum over `pp`; a bound
/// result is bound in the stage that computes it. With one stage the Program is
/// unchanged.
/// Reports a value that goes from one chunk of a stage to another chunk of it;
/// there is none when each layer reads only the result of the layer before it.
std::vector<ir::Module> splitStages(ir::Module whole,
                                    const recipe::Recipe& recipe,
                                    diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_STAGES_H
