// The order in which several sources contribute their rows, by weights.
//
// Row j of source k has the key (j + 1/2) / weight_k. Rows are ordered by key,
// and rows of equal keys by source. So the next row always comes from the
// source that is furthest below its share, by the rule of Webster and
// Sainte-Lague for seats of a parliament (Balinski & Young 1982, "Fair
// Representation", chapter 8): after any number of rows, each source has
// contributed its share of them to within a few rows.
//
// The row at an index is computed from the index without iterating: rows below
// a key are counted.

#ifndef RECIPERUN_DATA_BLENDORDER_H
#define RECIPERUN_DATA_BLENDORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reciperun::data {

class BlendOrder {
public:
  /// `weights` are above 0. A source contributes at most `limit` rows; the
  /// other sources share the rows after that.
  BlendOrder(std::vector<double> weights, std::vector<int64_t> limits);

  struct Place {
    size_t source = 0;
    int64_t row = 0; // of the source
  };
  /// The row at index `number`, which is below total().
  Place at(int64_t number) const;
  /// The number of rows of each source before index `number`.
  std::vector<int64_t> before(int64_t number) const;
  /// The number of rows up to and including a source's row.
  int64_t through(Place place) const;
  /// The rows of all sources; INT64_MAX when one has no limit.
  int64_t total() const { return sum; }
  int64_t limit(size_t source) const { return limits[source]; }

private:
  double key(size_t source, int64_t row) const {
    return (static_cast<double>(row) + 0.5) / weights[source];
  }
  int64_t countUpTo(size_t source, double most) const;
  int64_t countUpTo(double most) const;
  double keyNotBehind(int64_t number) const;
  size_t nextSource(const std::vector<int64_t>& given) const;

  std::vector<double> weights;
  std::vector<int64_t> limits;
  double weight = 0; // of all
  int64_t sum = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_BLENDORDER_H
