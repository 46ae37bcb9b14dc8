// The file of a checkpoint that one rank writes.
//
// It holds the parts of the state that no lower rank holds, in the order of
// writtenShards, and the rank's histories, each as a flat tensor.

#ifndef RECIPERUN_CHECKPOINT_RANKFILE_H
#define RECIPERUN_CHECKPOINT_RANKFILE_H

#include "runtime/checkpoint/BufferAccess.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/StateShards.h"

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// `rank-00003.safetensors`.
std::string rankFileName(int rank);

class RankFile {
public:
  /// The plan outlives the object.
  RankFile(const plan::Plan& plan, int rank);

  /// Whether the rank writes no file, since lower ranks hold all that it does.
  bool isEmpty() const { return parts.empty(); }
  std::string name() const { return rankFileName(rank); }
  /// Of the tensors, and of the whole file.
  int64_t dataBytes() const;
  int64_t fileBytes(const SaveId& save) const;

  /// Copies the data out of the buffers, in the file's order; `out` has
  /// dataBytes().
  Status copy(const BufferAccess& buffers, std::span<std::byte> out) const;
  /// Writes the file, from such a copy or piece by piece from the buffers. It
  /// has its name when it is on the disk.
  Status write(const std::filesystem::path& folder, const SaveId& save,
               std::span<const std::byte> data) const;
  Status write(const std::filesystem::path& folder, const SaveId& save,
               const BufferAccess& buffers) const;

  /// Adds the file to the manifest's and its parts to the parameters' pieces,
  /// which stand in the plan's order.
  void describe(Manifest& manifest) const;

private:
  /// In the file.
  std::string nameOf(const StateShard& part) const;
  plan::DType typeOf(const StateShard& part) const;
  /// The elements of a part from number `first` on, as the file has them.
  Status read(const BufferAccess& buffers, const StateShard& part,
              int64_t first, std::span<std::byte> out) const;
  int64_t bytesOf(const StateShard& part) const;
  std::vector<TensorSpec> specs() const;

  const plan::Plan& plan;
  const plan::Stage& stage; // the rank's
  int rank;
  std::vector<StateShard> parts;
};

/// What every checkpoint of the plan's run says alike: the model, its
/// parameters, and the files and pieces of all ranks.
Manifest describeRun(const plan::Plan& plan, const std::string& run = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_RANKFILE_H
