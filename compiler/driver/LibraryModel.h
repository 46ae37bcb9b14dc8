// Finds the model of the standard library for a Hugging Face config.json.
//
// A model of the library declares its config.json in `hf_config`. LibraryModel
// inverts that mapping.

#ifndef RECIPEC_DRIVER_LIBRARYMODEL_H
#define RECIPEC_DRIVER_LIBRARYMODEL_H

#include "compiler/driver/Session.h"
#include "compiler/import/Job.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::driver {

using ConfigJson = nlohmann::json;

/// A config.json that has been read.
struct ConfigFile {
  SourceId source = SourceId::none;
  std::string_view text;
  ConfigJson json;
};

/// A field of a model with its value from a config.json.
struct ModelField {
  std::string name; // `vocab`
  std::string key;  // `vocab_size`
  ConfigJson value;
};

/// The library's models with the `model_type` of a config.json.
struct Family {
  const ast::File* file = nullptr;
  std::string module; // `llama` of std/models/llama.recipe
  const ast::ModelDecl* model = nullptr;
  const ast::Body* config = nullptr; // of `hf_config`
};

/// Reads a config.json. Returns nullopt, with a diagnostic without help, if it
/// is missing or no JSON object.
std::optional<ConfigFile> readConfig(Session& session, const std::string& path);

/// The family of the file's `model_type`; nullopt if the library has none.
std::optional<Family> findFamily(FileLoader& loader, const ConfigJson& config);

/// The values of `model_type` for which the library has models.
std::vector<std::string> knownModelTypes(FileLoader& loader);

/// The names of the family and of the models that its file derives from it, in
/// order.
std::vector<std::string> modelsOf(const Family& family);

/// The models that the library derives from families, with or without a
/// config.json.
std::vector<importer::Model> libraryModels(FileLoader& loader);

/// The fields that are the value of a key in `hf_config`, for example
/// `vocab_size = vocab`, with the file's values. If several keys have the same
/// field, the first counts.
std::vector<ModelField> fieldsOf(const Family& family,
                                 const ConfigJson& config);

/// `  vocab = 640`: one line for each field.
std::string linesOf(const std::vector<ModelField>& fields);

/// The `hf_config` of the recipe with this text, as JSON. Empty, with the
/// reason in `why`, if the recipe has an error. `path` is the file name for the
/// text.
std::string configOfRecipe(const FileLoader& library, const std::string& path,
                           const std::string& text, std::string& why);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LIBRARYMODEL_H
