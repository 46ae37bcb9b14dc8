// Assigns documents to rows.
//
// First-fit: each document, in the given order, goes into the first row that
// has room for it (Johnson 1973: at most 1.7 times the fewest rows, in practice
// a few percent above). Attention never crosses documents: each has its own
// segment.

#ifndef RECIPERUN_DATA_PACKING_H
#define RECIPERUN_DATA_PACKING_H

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::data {

/// The document indices of each row.
struct RowLayout {
  std::vector<int64_t> documents;
  std::vector<int64_t> starts{0}; // of each row in `documents`, and the end

  int64_t rows() const { return static_cast<int64_t>(starts.size()) - 1; }
  /// The number of rows with exactly `documents` documents.
  int64_t rowsOf(int64_t documents) const;
  std::span<const int64_t> row(int64_t index) const {
    return std::span(documents).subspan(starts[index],
                                        starts[index + 1] - starts[index]);
  }
};

/// One document per row, in order.
RowLayout layOneByOne(const std::vector<int64_t>& order);

/// The capacity of a row.
struct RowRoom {
  int64_t places = 0;
  int64_t documents = 0; // 0: any number
};

/// Document d takes `places[d]` <= room.places tokens. Within a row documents
/// keep their order. O(n log n).
RowLayout packFirstFit(const std::vector<int64_t>& order,
                       const std::vector<int64_t>& places, RowRoom room);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PACKING_H
