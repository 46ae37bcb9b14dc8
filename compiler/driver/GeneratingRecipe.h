// A recipe that generates from a model in a Hugging Face directory.

#ifndef RECIPEC_DRIVER_GENERATINGRECIPE_H
#define RECIPEC_DRIVER_GENERATINGRECIPE_H

#include "compiler/driver/Session.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// Whether the path is a folder with a config.json.
bool isModelFolder(const std::string& path);

/// The model of a folder's config.json in the library.
struct FolderModel {
  std::string module; // `llama` of std/models/llama.recipe
  std::string value;  // `library.llama3_8b { ... }`, in whole lines
};

/// The model of the standard library, imported as `library`, that agrees with
/// every key that it and the folder's config.json both have. Returns nullopt,
/// with diagnostics in the session, if there is none.
std::optional<FolderModel> modelOfFolder(Session& session,
                                         const std::string& folder);

/// The text of a recipe with task `generate` on one CPU rank. Its model is one
/// that of modelOfFolder(). A quantized folder is served in its own format
/// (checkpoint/quantized/ServingFormat.h). Returns nullopt, with diagnostics in
/// the session, if there is none.
std::optional<std::string> generatingRecipe(Session& session,
                                            const std::string& folder);

/// Opens the recipe made for a model folder, the target of a session, as if it
/// were a file. Returns false with diagnostics.
bool openModelFolder(Session& session);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_GENERATINGRECIPE_H
