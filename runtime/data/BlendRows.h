// Rows of a blend of several sources, each of which contributes its share:
// BlendOrder chooses the source of a row, and each source has its own epochs.
//
// An epoch of the blend ends when every source has completed one more epoch
// than at its beginning, or, with `first_exhausted`, as soon as one source has.
// A source that has reached its limit of epochs in the recipe is ignored here.

#ifndef RECIPERUN_DATA_BLENDROWS_H
#define RECIPERUN_DATA_BLENDROWS_H

#include "runtime/data/BlendOrder.h"
#include "runtime/data/Rows.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <string>
#include <vector>

namespace reciperun::data {

class BlendRows : public Rows {
public:
  /// `opened` are the rows of the blend's sources, one for each.
  BlendRows(const plan::DataSource& blend,
            std::vector<std::unique_ptr<Rows>> opened);

  int64_t ofEpoch(int64_t epoch) const override;
  int64_t firstOf(int64_t epoch) const override;
  RowPlace placeOf(int64_t number) const override;
  int64_t total() const override { return order.total(); }
  int64_t bytes() const override;
  Expected<int64_t> weight(const RowPlace& place) const override;
  Status fill(const RowPlace& place, Row& row) const override;
  std::string extent() const override;
  std::string origin(const RowPlace& place) const override;
  std::vector<std::string> notes() const override;
  std::vector<SourceRows> sourcesBefore(int64_t number) const override;

private:
  struct Found {
    const Rows& rows;
    RowPlace place;
  };
  Found find(const RowPlace& place) const;
  int64_t endOf(int64_t epoch) const;

  std::vector<std::unique_ptr<Rows>> sources;
  std::vector<std::string> names;
  std::vector<double> shares;
  bool endsWithFirst;
  BlendOrder order;
  /// The index of each epoch's first row, as far as computed.
  mutable std::vector<int64_t> epochStarts{0};
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_BLENDROWS_H
