// The file of a checkpoint that one rank writes.
//
// It has the shards of the state that no lower rank has, in the order of
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
  /// The plan must outlive the object.
  RankFile(const plan::Plan& plan, int rank);

  /// Whether the rank writes no file, because lower ranks have all its shards.
  bool isEmpty() const { return parts.empty(); }
  std::string name() const { return rankFileName(rank); }
  /// The size of the tensors, and of the whole file.
  int64_t dataBytes() const;
  int64_t fileBytes(const SaveId& save) const;

  /// Copies the data out of the buffers, in file order; `out` has dataBytes().
  Status copy(const BufferAccess& buffers, std::span<std::byte> out) const;
  /// Writes the file from a copy made by `copy`, or piece by piece from the
  /// buffers. The file gets its name when it is on the disk.
  Status write(const std::filesystem::path& folder, const SaveId& save,
               std::span<const std::byte> data) const;
  Status write(const std::filesystem::path& folder, const SaveId& save,
               const BufferAccess& buffers) const;

  /// Adds the file to the manifest's files and its shards to the parameters'
  /// pieces. The manifest's parameters must be in the plan's order.
  void describe(Manifest& manifest) const;

private:
  /// The shard's name in the file.
  std::string nameOf(const StateShard& part) const;
  plan::DType typeOf(const StateShard& part) const;
  /// Reads elements of a shard from index `first` on, as stored in the file.
  Status read(const BufferAccess& buffers, const StateShard& part,
              int64_t first, std::span<std::byte> out) const;
  int64_t bytesOf(const StateShard& part) const;
  std::vector<TensorSpec> specs() const;

  const plan::Plan& plan;
  const plan::Stage& stage; // the rank's
  int rank;
  std::vector<StateShard> parts;
};

/// The part of the manifest that all checkpoints of the plan's run share: the
/// model, its parameters, and the files and pieces of all ranks.
Manifest describeRun(const plan::Plan& plan, const std::string& run = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_RANKFILE_H
