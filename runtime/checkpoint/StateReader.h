// Reads elements of a checkpoint's tensors, independent of the saved layout.

#ifndef RECIPERUN_CHECKPOINT_STATEREADER_H
#define RECIPERUN_CHECKPOINT_STATEREADER_H

#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/Safetensors.h"

#include <filesystem>
#include <list>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace reciperun::checkpoint {

/// Reads the chunks (Checksums.h) that contain the requested elements, and
/// verifies their checksums. From a file without checksums it reads only the
/// requested elements and gaps of up to a page between runs. Files are opened
/// on first use.
class StateReader {
public:
  /// The manifest index of the last file that was read; -1 before.
  int lastFile() const { return last; }

  /// Reads the manifest and checks the sizes of the files.
  static Expected<StateReader> open(const std::filesystem::path& checkpoint);

  const std::filesystem::path& path() const { return folder; }
  const Manifest& manifest() const { return described; }

  /// Fills `out` with the elements first ... first + count - 1 of a block of a
  /// parameter (by its index in the manifest), converted to `type`. Weights are
  /// rounded to bf16 as the optimizer rounds its masters. Fails when no piece
  /// has one of them, and when a file does not match the manifest.
  Status read(int parameter, StateKind kind, const ShardLayout& block,
              int64_t first, int64_t count, plan::DType type,
              std::span<std::byte> out);

  /// Fills `out` with the history `name` written by a rank. Leaves `out`
  /// unchanged when the rank has no such history of that length.
  Status readAmaxHistory(int rank, const std::string& name,
                         std::span<std::byte> out);

private:
  /// The pieces of one block, sorted by their offset in it.
  struct SavedBlock {
    ShardLayout layout;
    std::vector<const Piece*> pieces;
  };
  /// Elements that are contiguous in a file and in the output.
  struct Extent {
    const Piece* piece = nullptr;
    int64_t offset = 0; // bytes in the file
    int64_t tensor = 0; // offset of its tensor in the file
    bool isChecked = false;
    int64_t count = 0;
    int64_t target = 0; // index in the elements that are read

    /// The range of the file to read for it.
    int64_t begin() const;
    int64_t end() const;
  };

  StateReader(std::filesystem::path folder, Manifest manifest)
      : folder(std::move(folder)), described(std::move(manifest)) {}
  void select(int parameter, StateKind kind);
  Expected<Extent> find(int64_t global);
  Status readExtents(std::vector<Extent>& extents, plan::DType type,
                     std::span<std::byte> out);
  /// Extents of one tensor in one file that are close together, by offset.
  using Run = std::span<const Extent>;
  Status readAtOnce(std::span<const Run> runs, plan::DType type,
                    std::span<std::byte> out);
  Status takeRun(const SafetensorsFile& file, const Run& run,
                 std::span<const std::byte> bytes, plan::DType type,
                 std::span<std::byte> out) const;
  Status checkRun(const SafetensorsFile& file, int64_t offset,
                  std::span<const std::byte> chunks) const;
  Expected<const SafetensorsFile*> fileOf(int number);
  Status missing(int64_t global) const;

  struct OpenFile {
    int number = 0;
    SafetensorsFile file;
  };

  std::filesystem::path folder;
  Manifest described;
  std::list<OpenFile> files; // most recently used first
  std::vector<std::byte> window;
  int last = -1;

  // State set by `select`.
  int parameter = -1;
  StateKind kind = StateKind::weight;
  std::vector<SavedBlock> blocks;
  size_t lastBlock = 0; // block of the last element found
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATEREADER_H
