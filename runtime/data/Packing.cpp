// The free tokens of the rows are the leaves of a tournament tree of maxima.
// Descending to the left child whenever it has enough finds the first row that
// fits.

#include "runtime/data/Packing.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace reciperun::data {

namespace {

class FreePlaces {
public:
  FreePlaces(size_t rows, int64_t sequence)
      : leaves(std::bit_ceil(std::max<size_t>(rows, 1))),
        tree(2 * leaves, sequence) {}

  /// Takes tokens of the first row that has enough, and returns the row.
  int64_t take(int64_t places) {
    size_t node = 1;
    while (node < leaves)
      node = tree[2 * node] >= places ? 2 * node : 2 * node + 1;
    set(node, tree[node] - places);
    return static_cast<int64_t>(node - leaves);
  }

  /// Closes a row to further documents.
  void close(int64_t row) { set(leaves + static_cast<size_t>(row), 0); }

private:
  void set(size_t node, int64_t places) {
    tree[node] = places;
    for (node /= 2; node > 0; node /= 2)
      tree[node] = std::max(tree[2 * node], tree[2 * node + 1]);
  }

  size_t leaves;
  std::vector<int64_t> tree;
};

} // namespace

int64_t RowLayout::rowsOf(int64_t documents) const {
  int64_t count = 0;
  for (int64_t i = 0; i < rows(); ++i)
    count += static_cast<int64_t>(row(i).size()) == documents;
  return count;
}

RowLayout layOneByOne(const std::vector<int64_t>& order) {
  RowLayout layout;
  layout.documents = order;
  layout.starts.resize(order.size() + 1);
  std::iota(layout.starts.begin(), layout.starts.end(), 0);
  return layout;
}

RowLayout packFirstFit(const std::vector<int64_t>& order,
                       const std::vector<int64_t>& places, RowRoom room) {
  FreePlaces free(order.size(), room.places);
  std::vector<std::vector<int64_t>> rows;
  for (int64_t document : order) {
    const int64_t row = free.take(places[document]);
    if (row == static_cast<int64_t>(rows.size()))
      rows.emplace_back();
    rows[row].push_back(document);
    if (static_cast<int64_t>(rows[row].size()) == room.documents)
      free.close(row);
  }
  RowLayout layout;
  for (const std::vector<int64_t>& row : rows) {
    layout.documents.insert(layout.documents.end(), row.begin(), row.end());
    layout.starts.push_back(static_cast<int64_t>(layout.documents.size()));
  }
  return layout;
}

} // namespace reciperun::data
