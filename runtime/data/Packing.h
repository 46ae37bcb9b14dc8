// Which documents share a row.
//
// First-fit: each document, in the given order, goes into the first row that
// has room for it (Johnson 1973: at most 1.7 times the fewest rows, in practice
// a few percent above). Attention never crosses documents: each has a segment
// of its own.

#ifndef RECIPERUN_DATA_PACKING_H
#define RECIPERUN_DATA_PACKING_H

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::data {

/// Rows of document numbers.
struct RowLayout {
  std::vector<int64_t> documents;
  std::vector<int64_t> starts{0}; // of each row in `documents`, and the end

  int64_t rows() const { return static_cast<int64_t>(starts.size()) - 1; }
  /// Rows that hold so many documents.
  int64_t rowsOf(int64_t documents) const;
  std::span<const int64_t> row(int64_t index) const {
    return std::span(documents).subspan(starts[index],
                                        starts[index + 1] - starts[index]);
  }
};

/// One document a row, in order.
RowLayout layOneByOne(const std::vector<int64_t>& order);

/// What a row has room for.
struct RowRoom {
  int64_t places = 0;
  int64_t documents = 0; // 0: any number
};

/// `places[d]` <= room.places is what document d takes. Within a row documents
/// keep their order. O(n log n).
RowLayout packFirstFit(const std::vector<int64_t>& order,
                       const std::vector<int64_t>& places, RowRoom room);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PACKING_H
