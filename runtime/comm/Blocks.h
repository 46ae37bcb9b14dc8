// How the parts of a tensor that is split along one dimension lie in the whole.
//
// A split along dimension d of [a.., d, b..] cuts the whole into rows, one for
// each index before d; a row holds one block of each part, side by side. A part
// is its blocks of all rows, one behind the other:
//
//   whole:  row 0: part 0 | part 1 | ...   row 1: part 0 | part 1 | ...
//   part 1: block of row 0, block of row 1, ...
//
// Ranges of a part's elements are copied out of and into the whole, so that a
// collective can go through a part in pieces of bounded size.

#ifndef RECIPERUN_COMM_BLOCKS_H
#define RECIPERUN_COMM_BLOCKS_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace reciperun::comm {

struct Blocks {
  int64_t rows = 1;  // product of the dimensions before the split one
  int64_t block = 1; // elements of one part in one row
  int parts = 1;
  int64_t elementBytes = 1;

  /// The layout of parts of shape `partShape`, `parts` of them along `dim`.
  static Blocks of(std::span<const int64_t> partShape, int dim, int parts,
                   int64_t elementBytes);

  int64_t shardElements() const { return rows * block; }
  /// Whether each part is one contiguous run of the whole.
  bool contiguous() const { return rows == 1; }

  /// out = elements [begin, end) of part number `part` of the whole.
  void pack(const std::byte* whole, int part, int64_t begin, int64_t end,
            std::byte* out) const;
  /// The other way: elements [begin, end) of the part = in.
  void unpack(const std::byte* in, int part, int64_t begin, int64_t end,
              std::byte* whole) const;

private:
  template <class Visit>
  void runs(int part, int64_t begin, int64_t end, Visit&& visit) const;
};

/// The dimension that an exchange of parts cuts, and the one along which it
/// lays what comes.
struct ShardExchange {
  int split = 0, concat = 0;

  struct Ends {
    Blocks from, to;
    /// Whether each part goes from one run of memory to one run.
    bool contiguous() const { return from.contiguous() && to.contiguous(); }
  };
  /// How parts lie among so many ranks, of a tensor of that shape.
  Ends endsOf(std::span<const int64_t> shape, int ranks,
              int64_t elementBytes) const;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_BLOCKS_H
