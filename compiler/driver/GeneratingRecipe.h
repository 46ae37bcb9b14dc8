// A recipe that generates from a model in a Hugging Face directory.

#ifndef RECIPEC_DRIVER_GENERATINGRECIPE_H
#define RECIPEC_DRIVER_GENERATINGRECIPE_H

#include "compiler/driver/Session.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// Whether the path is a folder with a config.json.
bool isModelFolder(const std::string& path);

/// The library's model for a folder's config.json.
struct FolderModel {
  std::string module; // `llama` of std/models/llama.recipe
  std::string value;  // `library.llama3_8b { ... }`, in whole lines
};

/// Finds the model of the standard library, imported as `library`, that agrees
/// with the folder's config.json in every key that both have. Returns nullopt,
/// with diagnostics in the session, if there is none.
std::optional<FolderModel> modelOfFolder(Session& session,
                                         const std::string& folder);

/// The text of a recipe with task `generate` on one CPU rank, with the model
/// that modelOfFolder() finds. A quantized folder is served in its own format
/// (checkpoint/quantized/ServingFormat.h). Returns nullopt, with diagnostics in
/// the session, if there is no such model.
std::optional<std::string> generatingRecipe(Session& session,
                                            const std::string& folder);

/// Opens the recipe made for a model folder, the session's target, as if it
/// were a file. Returns false with diagnostics.
bool openModelFolder(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_GENERATINGRECIPE_H
