// The rows of a data set, epoch by epoch: what the loader deals to the ranks.
//
// Each kind of source has its own: DocumentRows (samples of their own),
// StreamRows (tokens one behind the other) and MockRows. All of them are
// functions of the row's number, so that a run resumes anywhere.

#ifndef RECIPERUN_DATA_ROWS_H
#define RECIPERUN_DATA_ROWS_H

#include "runtime/data/Row.h"
#include "runtime/plan/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::data {

/// Rows of training come in another order in each epoch, those of validation
/// in that of the files.
enum class DataSet { train, valid };

/// Where a row of the whole run is: an epoch, and the row's number in it.
struct RowPlace {
  int64_t epoch = 0;
  int64_t row = 0;
};

class Rows {
public:
  virtual ~Rows() = default;

  /// How many rows an epoch has; the largest number where it has no end.
  virtual int64_t ofEpoch(int64_t epoch) const = 0;
  /// The number, among all rows of a run, of an epoch's first; and the inverse.
  /// Epochs have equally many rows unless a kind says otherwise.
  virtual int64_t firstOf(int64_t epoch) const { return epoch * ofEpoch(0); }
  virtual RowPlace placeOf(int64_t number) const {
    return {number / ofEpoch(0), number % ofEpoch(0)};
  }

  /// Places of the row that count in the loss.
  virtual Expected<int64_t> weight(const RowPlace& place) const = 0;
  /// Fills a row that is all padding.
  virtual Status fill(const RowPlace& place, Row& row) const = 0;

  /// What an epoch holds: `12 rows an epoch`.
  virtual std::string extent() const = 0;
  /// Where the row is from: `line 3 of "train.jsonl"`; empty where it is drawn.
  virtual std::string origin(const RowPlace& place) const = 0;
  /// What a user should know about the data, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ROWS_H
