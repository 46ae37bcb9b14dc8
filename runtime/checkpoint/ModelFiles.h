// The set of safetensors files of a model's directory, one or many.
//
// A directory has `model.safetensors`, or several files and
// `model.safetensors.index.json`, whose `weight_map` maps tensors to files.

#ifndef RECIPERUN_CHECKPOINT_MODELFILES_H
#define RECIPERUN_CHECKPOINT_MODELFILES_H

#include "runtime/checkpoint/Safetensors.h"

#include <optional>

namespace reciperun::checkpoint {

/// The tensors of a model, for reading.
class ModelFiles {
public:
  /// A tensor and the file that holds it.
  struct Place {
    const SafetensorsFile* file = nullptr;
    const StoredTensor* tensor = nullptr;
  };

  /// Opens every file and checks every header. Fails when the directory has no
  /// safetensors, and when the index is damaged, names a tensor that its file
  /// lacks or omits one that the file has.
  static Expected<ModelFiles> open(const std::filesystem::path& directory);

  const std::filesystem::path& directory() const { return folder; }
  std::optional<Place> find(std::string_view name) const;
  /// The names of all tensors, sorted.
  std::vector<std::string> names() const;

private:
  Status openIndex(const std::filesystem::path& index);

  std::filesystem::path folder;
  std::vector<SafetensorsFile> files;
};

/// Streams tensors into one file, or into several with an index when their
/// data exceeds `maxFileBytes`. The specs' order is the order of the data.
class ModelWriter {
public:
  static Expected<ModelWriter> create(const std::filesystem::path& directory,
                                      std::vector<TensorSpec> specs,
                                      int64_t maxFileBytes);
  /// Appends bytes of the current tensor, at most up to its end.
  Status append(std::span<const std::byte> data);
  /// Completes the last file and writes the index if there is one.
  Status finish();

private:
  struct Part {
    std::string file;
    std::vector<TensorSpec> specs;
  };

  Status openPart();
  Status writeIndex() const;

  std::filesystem::path folder;
  std::vector<Part> parts;
  size_t current = 0; // part
  std::optional<SafetensorsWriter> writer;
  int64_t remaining = 0; // bytes of the current part
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_MODELFILES_H
