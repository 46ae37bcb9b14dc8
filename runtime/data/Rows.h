// The rows of a data set, epoch by epoch: what the loader deals to the ranks.
//
// Each kind of source has its own: DocumentRows (samples of their own),
// StreamRows (tokens one behind the other), MockRows, and BlendRows (rows of
// several others). All of them are functions of the row's number, so that a run
// resumes anywhere.

#ifndef RECIPERUN_DATA_ROWS_H
#define RECIPERUN_DATA_ROWS_H

#include "runtime/base/Status.h"
#include "runtime/data/Row.h"

#include <cstdint>
#include <limits>
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

/// What one of several blended sources has given of the rows of a run.
struct SourceRows {
  std::string name; // as messages call it: "`web.bin`"
  int64_t rows = 0;
  double epochs = 0; // of the source's own
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

  /// Rows of all epochs together; the largest number where there is no end.
  virtual int64_t total() const { return std::numeric_limits<int64_t>::max(); }

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
  /// What each source of a blend has given of the first rows; empty of others.
  virtual std::vector<SourceRows> sourcesBefore(int64_t number) const {
    static_cast<void>(number);
    return {};
  }
  /// Memory that the rows take as long as they are there, at most.
  virtual int64_t bytes() const { return 0; }
};

/// How many rows so many epochs have.
int64_t rowsIn(const Rows& rows, double epochs);
/// How many epochs the first `number` rows are.
double epochsOf(const Rows& rows, int64_t number);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ROWS_H
