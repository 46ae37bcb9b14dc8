// Batches for the training and validation loops, as a function of the step's
// number alone: a run that starts again at step n gets what the first would
// have got.
//
// The data set is one list of rows: those of epoch 0, of epoch 1, ..., each
// shuffled by (data.seed, epoch); see Rows.h. Step s takes the rows s * G ...
// s * G + G - 1 of the list, whatever the layout; a step may span two epochs. A
// run of `train.epochs` ends where the list has given that many; the rows of
// the last global batch beyond that are empty (weight 0, segment -1), so that
// each document is seen exactly as often as asked. Validation takes every row
// of one epoch once, in the order of the files.

#ifndef RECIPERUN_DATA_LOADER_H
#define RECIPERUN_DATA_LOADER_H

#include "runtime/base/Status.h"
#include "runtime/data/Rows.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::data {

/// Where a micro-batch is written: host memory, row-major [micro, sequence], or
/// as many tokens of each row as the shard has, and for `samples` [micro]. See
/// plan::Inputs. A null member is left out.
struct BatchView {
  int32_t* tokens = nullptr;
  int32_t* labels = nullptr;
  float* weights = nullptr;
  int32_t* positions = nullptr;
  int32_t* segments = nullptr;
  int32_t* places = nullptr;
  int64_t* samples = nullptr;
};

/// Which rows of a global batch a rank gets: its coordinate along `dp`, the
/// size of `dp`, and the micro-batches that one run of the schedule loads; and
/// which tokens of each row: its coordinate along `cp` and the size of `cp`.
struct BatchShard {
  int64_t rank = 0;
  int64_t ranks = 1;
  int64_t microBatches = 1;
  int64_t part = 0;
  int64_t parts = 1;
};

class Loader {
public:
  /// Opens the data set. `tokenizer` may be null where no text is read and need
  /// not outlive the call. Fails as the source's kind of rows does, for a kind
  /// that this version does not read, for mock data without `train.steps`, for
  /// steps beyond the last row, where memory does not suffice, and once the run
  /// is to stop.
  static Expected<Loader> open(const plan::Data& data, const plan::Train& train,
                               DataSet set, BatchShard shard,
                               const Tokenizer* tokenizer);

  /// Steps of the run: `train.steps`, or as many as `train.epochs` take; for
  /// validation the batches of one pass.
  int64_t steps() const;
  /// Rows of one global batch.
  int64_t globalBatch() const;
  /// Rows that steps 0 ... step - 1 have taken, empty ones left out.
  int64_t samplesBefore(int64_t step) const;
  /// Epochs that are over before a step, with the part of the current one.
  double epochsBefore(int64_t step) const;
  /// What each source of a blend gives of the rows of steps 0 ... step - 1;
  /// empty of other kinds.
  std::vector<SourceRows> sourcesBefore(int64_t step) const {
    return rows->sourcesBefore(samplesBefore(step));
  }
  /// Memory that the data takes at most while the run goes on.
  int64_t bytes() const { return rows->bytes(); }
  /// Rows of an epoch.
  int64_t rowsOfEpoch(int64_t epoch) const { return rows->ofEpoch(epoch); }

  /// Writes a micro-batch of a step (both from 0). `samples` gets step * G + i.
  Status fill(int64_t step, int64_t microBatch, const BatchView& view) const;

  /// Places of a step's global batch that count in the loss.
  Expected<double> weight(int64_t step) const;

  /// What an epoch holds: `12 rows an epoch`.
  std::string extent() const { return rows->extent(); }
  /// Where the rows of a step are from, and those of this rank's micro-batch of
  /// it: the first few, for messages; empty for mock data.
  std::string origin(int64_t step) const;
  std::string origin(int64_t step, int64_t microBatch) const;
  /// What a user should know about the data, a line each.
  std::vector<std::string> notes() const { return rows->notes(); }

private:
  Loader(const plan::Data& data, const plan::Train& train, DataSet set,
         BatchShard shard, std::shared_ptr<const Rows> rows);
  void limitRows(const plan::Train& train);
  Status checkTotal() const;
  int64_t firstRow(int64_t step, int64_t microBatch) const;
  std::string originOf(int64_t first, int64_t count) const;
  Status fillRow(int64_t number, Row& row) const;
  void deal(const Row& row, const BatchView& view) const;

  DataSet set;
  BatchShard shard;
  bool isEndless = false; // mock data
  int64_t micro = 0;
  int64_t sequence = 0;
  int64_t rowLimit = 0; // rows from here on are empty
  std::shared_ptr<const Rows> rows;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_LOADER_H
