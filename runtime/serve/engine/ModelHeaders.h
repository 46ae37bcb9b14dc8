// What a plan of a model depends on, in a folder of this machine.

#ifndef RECIPERUN_SERVE_ENGINE_MODELHEADERS_H
#define RECIPERUN_SERVE_ENGINE_MODELHEADERS_H

#include "runtime/base/Status.h"

#include <filesystem>

namespace reciperun::serve {

/// The configuration of a model at an address and the headers of its weights,
/// which `recipec plan` reads. Files of weights have their sizes, but no data:
/// they take no space where the file system keeps holes. The folder is one of
/// temporary files and is removed at the end.
class ModelHeaders {
public:
  /// Fails when a file cannot be read or its header is invalid, and when the
  /// folder cannot be written.
  static Expected<ModelHeaders> copyFrom(const std::filesystem::path& address);
  ModelHeaders(ModelHeaders&& other) noexcept;
  ModelHeaders& operator=(ModelHeaders&&) = delete;
  ~ModelHeaders();

  const std::filesystem::path& path() const { return folder; }

private:
  ModelHeaders() = default;

  std::filesystem::path folder; // empty when there is nothing to remove
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_MODELHEADERS_H
