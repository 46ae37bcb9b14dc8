// A recipe that generates from a model in a Hugging Face directory.

#ifndef RECIPEC_DRIVER_GENERATINGRECIPE_H
#define RECIPEC_DRIVER_GENERATINGRECIPE_H

#include "compiler/driver/Session.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// Whether the path is a folder with a config.json.
bool isModelFolder(const std::string& path);

/// The text of a recipe with task `generate` on one CPU rank. Its model is one
/// of the standard library, with the sizes of the folder's config.json, and
/// agrees with every key that both have. A quantized folder is served in its
/// own format (checkpoint/quantized/ServingFormat.h). Returns nullopt, with
/// diagnostics in the session, if the library has no matching model.
std::optional<std::string> generatingRecipe(Session& session,
                                            const std::string& folder);

/// Opens the recipe made for a model folder, the target of a session, as if it
/// were a file. Returns false with diagnostics.
bool openModelFolder(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_GENERATINGRECIPE_H
