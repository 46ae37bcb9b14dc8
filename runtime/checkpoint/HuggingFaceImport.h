// Loads weights of a Hugging Face directory into the parameters of a rank.

#ifndef RECIPERUN_CHECKPOINT_HUGGINGFACEIMPORT_H
#define RECIPERUN_CHECKPOINT_HUGGINGFACEIMPORT_H

#include "runtime/checkpoint/ParameterAccess.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Fills the values of all parameters except an adapter's, which keep their
/// initialisation. The rank reads its own shards only, in pieces of 1 MiB, and
/// converts them to the compute type, on up to 16 threads; `access` is called
/// by one of them at a time. Not collective: the result may differ between
/// ranks, and the caller makes them agree.
///
/// Fails, before any value is written, when config.json and the plan disagree,
/// when tensors are missing, have another shape or are not floats, and when the
/// directory has tensors that are not in the model (except rotary `inv_freq`
/// buffers and, with tied embeddings, `lm_head.weight`).
Status loadHuggingFace(const plan::Plan& plan, int rank,
                       const std::filesystem::path& directory,
                       ParameterAccess& access);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUGGINGFACEIMPORT_H
