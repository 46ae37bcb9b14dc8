// Where a rank's block of a tensor lies in the whole tensor.
//
// A tensor is row-major; along each dimension a rank holds all of it or one of
// equal parts. The block is then a list of runs, pieces of equal length that
// are contiguous in the whole tensor and follow one another in the block.

#ifndef RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
#define RECIPERUN_CHECKPOINT_SHARDLAYOUT_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace reciperun::checkpoint {

/// One rank's block of one parameter. Positions and counts are in elements.
class ShardLayout {
public:
  ShardLayout(const plan::Parameter& parameter, const plan::Mesh& mesh,
              int rank);

  /// Of the block.
  int64_t elements() const { return count; }
  /// Elements of a whole run.
  int64_t runLength() const { return run; }
  /// The block's part of the whole tensor's dimension 0: first row, rows.
  int64_t firstRow() const { return dims[0].first; }
  int64_t rows() const { return dims[0].local; }

  struct Piece {
    int64_t local = 0;  // where it begins in the block
    int64_t global = 0; // where it begins in the whole tensor
    int64_t count = 0;
  };
  /// The rest of the run that element `local` of the block lies in.
  Piece pieceAt(int64_t local) const;

private:
  struct Dim {
    int64_t global = 1; // size in the whole tensor
    int64_t local = 1;  // size in the block
    int64_t first = 0;  // where the block begins
  };

  std::vector<Dim> dims;
  size_t innermost = 0; // the last dimension that is split, or 0
  int64_t run = 1;
  int64_t count = 1;
};

/// The ranks that hold the distinct blocks of a parameter, in rising order:
/// those at coordinate 0 of every axis that does not split it.
std::vector<int> shardOwners(const plan::Parameter& parameter,
                             const plan::Mesh& mesh);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
