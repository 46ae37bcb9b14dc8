// Elements of a checkpoint's tensors, whatever layout they were saved in.

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

/// Reads the chunks (Checksums.h) that hold what is asked for, and compares
/// them with their checksums; of a file that has none, what is asked for and no
/// more, but for gaps of a page between runs. Files are opened when they are
/// first needed.
class StateReader {
public:
  /// The number of the file that was read last, in the manifest; -1 before.
  int lastFile() const { return last; }

  /// Reads the manifest and compares the sizes of the files.
  static Expected<StateReader> open(const std::filesystem::path& checkpoint);

  const std::filesystem::path& path() const { return folder; }
  const Manifest& manifest() const { return described; }

  /// Fills `out` with the elements first ... first + count - 1 of a block of a
  /// parameter (by its number in the manifest), converted to `type`; weights to
  /// bf16 as the optimizer rounds its masters. Fails where no piece holds one
  /// of them, and where a file is not what the manifest says.
  Status read(int parameter, StateKind kind, const ShardLayout& block,
              int64_t first, int64_t count, plan::DType type,
              std::span<std::byte> out);

  /// Fills `out` with the history of that name that a rank wrote; leaves it as
  /// it is where the rank has none of that length.
  Status readAmaxHistory(int rank, const std::string& name,
                         std::span<std::byte> out);

private:
  /// The pieces of one block, by where they begin in it.
  struct SavedBlock {
    ShardLayout layout;
    std::vector<const Piece*> pieces;
  };
  /// Elements that are contiguous in a file and in what is read.
  struct Extent {
    const Piece* piece = nullptr;
    int64_t offset = 0; // bytes in the file
    int64_t tensor = 0; // where its tensor begins there
    bool isChecked = false;
    int64_t count = 0;
    int64_t target = 0; // elements from the first that is read

    /// The bytes of the file to read for it.
    int64_t begin() const;
    int64_t end() const;
  };

  StateReader(std::filesystem::path folder, Manifest manifest)
      : folder(std::move(folder)), described(std::move(manifest)) {}
  void select(int parameter, StateKind kind);
  Expected<Extent> find(int64_t global);
  Status readExtents(std::vector<Extent>& extents, plan::DType type,
                     std::span<std::byte> out);
  Status readRun(std::span<const Extent> extents, plan::DType type,
                 std::span<std::byte> out);
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
  std::list<OpenFile> files; // the one used last comes first
  std::vector<std::byte> window;
  int last = -1;

  // What `select` has chosen.
  int parameter = -1;
  StateKind kind = StateKind::weight;
  std::vector<SavedBlock> blocks;
  size_t lastBlock = 0; // where the last element was found
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_STATEREADER_H
