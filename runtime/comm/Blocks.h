// The layout of the parts of a tensor that is split along one dimension.
//
// A split along dimension d of [a.., d, b..] cuts the whole into rows, one for
// each index before d. A row holds one block of each part, next to each other.
// A part is the sequence of its blocks over all rows:
//
//   whole:  row 0: part 0 | part 1 | ...   row 1: part 0 | part 1 | ...
//   part 1: block of row 0, block of row 1, ...
//
// pack and unpack copy a range of a part's elements, so that a collective can
// process a part in pieces of bounded size.

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
  /// Elements [begin, end) of part number `part` of the whole = in.
  void unpack(const std::byte* in, int part, int64_t begin, int64_t end,
              std::byte* whole) const;

private:
  template <class Visit>
  void runs(int part, int64_t begin, int64_t end, Visit&& visit) const;
};

/// The dimension along which an all-to-all splits its input, and the one along
/// which it concatenates its output.
struct ShardExchange {
  int split = 0, concat = 0;

  struct Ends {
    Blocks from, to;
    /// Whether each part is contiguous in both tensors.
    bool contiguous() const { return from.contiguous() && to.contiguous(); }
  };
  /// The layouts of the parts of a tensor of `shape` over `ranks` ranks.
  Ends endsOf(std::span<const int64_t> shape, int ranks,
              int64_t elementBytes) const;
};

} // namespace reciperun::comm

#endif // RECIPERUN_COMM_BLOCKS_H
