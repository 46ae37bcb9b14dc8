// Concatenated token ids in memory.
//
// They are stored in pieces of one size: a vector would hold them twice while
// it grows, and keep unused capacity.

#ifndef RECIPERUN_DATA_TOKENSTORE_H
#define RECIPERUN_DATA_TOKENSTORE_H

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::data {

class TokenStore {
public:
  int64_t size() const { return count; }
  void append(std::span<const int32_t> ids);
  /// Copies ids from index `first` on until `out` is full.
  void read(int64_t first, std::span<int32_t> out) const;
  /// The memory of the ids in bytes.
  int64_t bytes() const { return count * int64_t(sizeof(int32_t)); }

private:
  std::vector<std::vector<int32_t>> pieces;
  int64_t count = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENSTORE_H
