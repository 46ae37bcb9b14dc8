// What `reciperun serve` serves: a model's directory, or a repository of
// models.

#ifndef RECIPERUN_SERVER_COMMANDS_SERVEDPLACES_H
#define RECIPERUN_SERVER_COMMANDS_SERVEDPLACES_H

#include "runtime/base/Status.h"

#include <filesystem>
#include <string>
#include <vector>

namespace reciperun::server {

struct ServedPlaces {
  /// In Triton's layout; empty when a model's directory is served.
  std::vector<std::filesystem::path> repositories;
  std::filesystem::path engine; // a model's directory; empty: none
  /// The model of a repository that names the engine; empty when the command
  /// does.
  std::filesystem::path user;
};

/// Distinguishes a model's directory from repositories, and finds the engine of
/// the repositories: the one that models name by `gpt_model_path`, or else have
/// as their version folder. `engine`, from the command line, overrides it.
/// Fails when a path is neither, and when models name several engines.
Expected<ServedPlaces> findPlaces(const std::vector<std::string>& paths,
                                  const std::string& engine,
                                  const std::string& configName);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_SERVEDPLACES_H
