// The order in which several sources give their rows, by weights.
//
// Row j of source k has the key (j + 1/2) / weight_k, and rows come in the
// order of their keys, those of equal keys in that of the sources. So the next
// row is always of the source that is furthest behind its share, by the rule of
// Webster and Sainte-Lague for seats of a parliament (Balinski & Young 1982,
// "Fair Representation", chapter 8): behind any number of rows, each source has
// given its share of them to within a few rows.
//
// Which row comes at a place follows from the place alone: rows below a key are
// counted, not walked through.

#ifndef RECIPERUN_DATA_BLENDORDER_H
#define RECIPERUN_DATA_BLENDORDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace reciperun::data {

class BlendOrder {
public:
  /// `weights` are above 0. A source gives as many rows as its `limit`, from
  /// then on the others share what comes.
  BlendOrder(std::vector<double> weights, std::vector<int64_t> limits);

  struct Place {
    size_t source = 0;
    int64_t row = 0; // of the source
  };
  /// What comes at a place below total().
  Place at(int64_t number) const;
  /// How many rows each source has given before a place.
  std::vector<int64_t> before(int64_t number) const;
  /// The number of rows up to a source's row, this one included.
  int64_t through(Place place) const;
  /// Of all sources; the largest number where one has no limit.
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
