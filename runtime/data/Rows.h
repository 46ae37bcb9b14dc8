// The rows of a data set, epoch by epoch, which the loader distributes to the
// ranks.
//
// Each kind of source has its own class: DocumentRows (separate samples),
// StreamRows (a token stream), MockRows, and BlendRows (rows of several
// sources). All of them are functions of the row number, so that a run can
// resume anywhere.

#ifndef RECIPERUN_DATA_ROWS_H
#define RECIPERUN_DATA_ROWS_H

#include "runtime/base/Status.h"
#include "runtime/data/Row.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace reciperun::data {

/// Training shuffles the rows in each epoch; validation takes them in the order
/// of the files.
enum class DataSet { train, valid };

/// The position of a row in the run: an epoch, and the row's index in it.
struct RowPlace {
  int64_t epoch = 0;
  int64_t row = 0;
};

/// The contribution of one blended source to the rows of a run.
struct SourceRows {
  std::string name; // as in messages: "`web.bin`"
  int64_t rows = 0;
  double epochs = 0; // of the source's own
};

class Rows {
public:
  virtual ~Rows() = default;

  /// The number of rows of an epoch; INT64_MAX when it is endless.
  virtual int64_t ofEpoch(int64_t epoch) const = 0;
  /// The number of an epoch's first row, among all rows of a run; and the
  /// inverse. Epochs have equally many rows unless a kind overrides this.
  virtual int64_t firstOf(int64_t epoch) const { return epoch * ofEpoch(0); }
  virtual RowPlace placeOf(int64_t number) const {
    return {number / ofEpoch(0), number % ofEpoch(0)};
  }

  /// The number of rows of all epochs; INT64_MAX when there is no end.
  virtual int64_t total() const { return std::numeric_limits<int64_t>::max(); }

  /// The number of tokens of the row that count in the loss.
  virtual Expected<int64_t> weight(const RowPlace& place) const = 0;
  /// Fills a row that is all padding.
  virtual Status fill(const RowPlace& place, Row& row) const = 0;

  /// The size of an epoch: `12 rows an epoch`.
  virtual std::string extent() const = 0;
  /// The origin of the row: `line 3 of "train.jsonl"`; empty when it is random.
  virtual std::string origin(const RowPlace& place) const = 0;
  /// Notes for the user about the data, one per line.
  virtual std::vector<std::string> notes() const { return {}; }
  /// The rows of each source of a blend among the first `number` rows; empty
  /// for other kinds.
  virtual std::vector<SourceRows> sourcesBefore(int64_t number) const {
    static_cast<void>(number);
    return {};
  }
  /// The peak memory of the rows in bytes.
  virtual int64_t bytes() const { return 0; }
};

/// The number of rows in the first `epochs` epochs.
int64_t rowsIn(const Rows& rows, double epochs);
/// The number of epochs in the first `number` rows.
double epochsOf(const Rows& rows, int64_t number);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_ROWS_H
