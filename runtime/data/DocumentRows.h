// Rows of samples: one per row, or, with `data.pack`, as many as fit.
//
// An epoch has every document once. Training shuffles them by (data.seed,
// epoch) and packs them in that order.

#ifndef RECIPERUN_DATA_DOCUMENTROWS_H
#define RECIPERUN_DATA_DOCUMENTROWS_H

#include "runtime/data/Documents.h"
#include "runtime/data/Packing.h"
#include "runtime/data/Rows.h"
#include "runtime/plan/Plan.h"

#include <map>

namespace reciperun::data {

class DocumentRows : public Rows {
public:
  DocumentRows(Documents documents, const plan::Data& data, DataSet set);

  int64_t ofEpoch(int64_t epoch) const override;
  int64_t firstOf(int64_t epoch) const override;
  RowPlace placeOf(int64_t number) const override;
  Expected<int64_t> weight(const RowPlace& place) const override;
  Status fill(const RowPlace& place, Row& row) const override;
  std::string extent() const override;
  std::string origin(const RowPlace& place) const override;
  /// The notes of the documents, and how many rows of the first epoch are full
  /// because of the limit on documents per row.
  std::vector<std::string> notes() const override;
  int64_t bytes() const override;

private:
  RowLayout layEpoch(int64_t epoch) const;
  const RowLayout& layoutOf(int64_t epoch) const;

  Documents documents;
  std::vector<int64_t> places; // of each document
  DataSet set;
  bool pack;
  RowRoom room;
  uint64_t seed;
  /// Cached layouts of the epochs in use, and the index of each epoch's first
  /// row as far as computed.
  mutable std::map<int64_t, RowLayout> layouts;
  mutable std::vector<int64_t> epochStarts{0};
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_DOCUMENTROWS_H
