// Where a rank's block of a tensor lies in the whole tensor.
//
// A tensor is row-major; along each dimension a rank holds all of it or one of
// equal parts. The block is then a list of runs, pieces of equal length that
// are contiguous in the whole tensor and follow one another in the block.

#ifndef RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
#define RECIPERUN_CHECKPOINT_SHARDLAYOUT_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace reciperun::checkpoint {

/// One block of a tensor. Positions and counts are in elements.
class ShardLayout {
public:
  struct Dim {
    int64_t global = 1; // size in the whole tensor
    int64_t local = 1;  // size in the block
    int64_t first = 0;  // where the block begins
    bool operator==(const Dim&) const = default;
  };

  /// A rank's block of a parameter.
  ShardLayout(const plan::Parameter& parameter, const plan::Mesh& mesh,
              int rank);
  /// Any block; each dimension's lies in the whole tensor's and is not empty.
  explicit ShardLayout(std::vector<Dim> dims);
  /// The whole tensor as its one block.
  static ShardLayout whole(const std::vector<int64_t>& shape);
  /// The same block of a tensor that is itself a run of a longer one, behind so
  /// many elements of it; places in the tensor then count from the start of the
  /// longer one.
  ShardLayout behind(int64_t elements) const;

  const std::vector<Dim>& dimensions() const { return dims; }
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
  /// The rest of the run that element `global` of the whole tensor lies in;
  /// nothing where the block does not hold it.
  std::optional<Piece> find(int64_t global) const;

private:
  void measure();

  std::vector<Dim> dims;
  size_t innermost = 0; // the last dimension that is split, or 0
  int64_t run = 1;
  int64_t count = 1;
  int64_t origin = 0; // where the tensor begins in a longer one
};

/// The ranks that hold the distinct blocks of a parameter, in rising order:
/// those at coordinate 0 of every axis that does not split it, in the first
/// stage that holds it. Where the ranks along `shardAxis` each hold a part of a
/// block, all of these.
std::vector<int> shardOwners(const plan::Parameter& parameter,
                             const plan::Mesh& mesh,
                             const std::string& shardAxis = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SHARDLAYOUT_H
