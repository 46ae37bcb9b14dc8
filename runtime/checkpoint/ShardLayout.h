// Locates a rank's block in a tensor.
//
// A tensor is row-major; along each dimension a rank has all of it or one of
// several equal parts. The block is then a list of runs: pieces of equal length
// that are contiguous in the whole tensor and adjacent in the block.

#ifndef RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
#define RECIPERUN_CHECKPOINT_SHARDLAYOUT_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace reciperun::checkpoint {

/// One block of a tensor. Offsets and counts are in elements.
class ShardLayout {
public:
  struct Dim {
    int64_t global = 1; // size in the whole tensor
    int64_t local = 1;  // size in the block
    int64_t first = 0;  // offset of the block
    bool operator==(const Dim&) const = default;
  };

  /// A rank's block of a parameter.
  ShardLayout(const plan::Parameter& parameter, const plan::Mesh& mesh,
              int rank);
  /// An arbitrary block; each dimension is inside the whole tensor's and not
  /// empty.
  explicit ShardLayout(std::vector<Dim> dims);
  /// The whole tensor as one block.
  static ShardLayout whole(const std::vector<int64_t>& shape);
  /// The same block of a tensor that is a range of a longer one and begins
  /// after `elements` elements of it. Global offsets then count from the start
  /// of the longer tensor.
  ShardLayout behind(int64_t elements) const;

  const std::vector<Dim>& dimensions() const { return dims; }
  /// The number of elements of the block.
  int64_t elements() const { return count; }
  /// The number of elements of a whole run.
  int64_t runLength() const { return run; }
  /// The block's range in dimension 0 of the whole tensor: first row, number of
  /// rows.
  int64_t firstRow() const { return dims[0].first; }
  int64_t rows() const { return dims[0].local; }

  struct Piece {
    int64_t local = 0;  // offset in the block
    int64_t global = 0; // offset in the whole tensor
    int64_t count = 0;
  };
  /// The rest of the run that contains element `local` of the block.
  Piece pieceAt(int64_t local) const;
  /// The rest of the run that contains element `global` of the whole tensor;
  /// nullopt when the block does not contain it.
  std::optional<Piece> find(int64_t global) const;

private:
  void measure();

  std::vector<Dim> dims;
  size_t innermost = 0; // the last dimension that is split, or 0
  int64_t run = 1;
  int64_t count = 1;
  int64_t origin = 0; // offset of the tensor in a longer one
};

/// The ranks that have the distinct blocks of a parameter, in ascending order:
/// those at coordinate 0 of every axis that does not split it, in the first
/// stage that has it. If blocks are split further along `shardAxis`, all ranks
/// along that axis are included.
std::vector<int> shardOwners(const plan::Parameter& parameter,
                             const plan::Mesh& mesh,
                             const std::string& shardAxis = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
