// Batches for the training and validation loops, as a function of the step
// number only: a run that resumes at step n gets the same batches as one that
// never stopped.
//
// The data set is one list of rows: the rows of epoch 0, of epoch 1, ..., each
// shuffled by (data.seed, epoch); see Rows.h. Step s takes the rows s * G ... s
// * G + G - 1 of the list, for any layout; a step may span two epochs. A run of
// `train.epochs` ends with the last of those epochs. The remaining rows of the
// last global batch are empty (weight 0, segment -1), so that each document is
// seen exactly as often as asked. Validation takes every row of one epoch once,
// in the order of the files.

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

/// The destination of a micro-batch: host memory, row-major [micro, tokens of
/// the shard's slice of `sequence`], and for `samples` [micro]. See
/// plan::Inputs. Null members are not written.
struct BatchView {
  int32_t* tokens = nullptr;
  int32_t* labels = nullptr;
  float* weights = nullptr;
  int32_t* positions = nullptr;
  int32_t* segments = nullptr;
  int32_t* places = nullptr;
  int64_t* samples = nullptr;
  int32_t* furtherLabels = nullptr;
  float* furtherWeights = nullptr;
  float furtherFactor = 0;
};

/// A rank's slice of a global batch. `rank` and `ranks` are its coordinate
/// along `dp` and the size of `dp`; `microBatches` is the number of
/// micro-batches per step of the schedule. `part` and `parts` are its
/// coordinate along `cp` and the size of `cp`, which slice the tokens of each
/// row.
struct BatchShard {
  int64_t rank = 0;
  int64_t ranks = 1;
  int64_t microBatches = 1;
  int64_t part = 0;
  int64_t parts = 1;
};

class Loader {
public:
  /// Opens the data set. `tokenizer` may be null when no text is read, and may
  /// be destroyed after the call. Fails when the source's kind of rows fails,
  /// for a kind that this version does not read, for mock data without
  /// `train.steps`, for steps beyond the last row, when memory does not
  /// suffice, and when the run is asked to stop.
  static Expected<Loader> open(const plan::Data& data, const plan::Train& train,
                               DataSet set, BatchShard shard,
                               const Tokenizer* tokenizer);

  /// The number of steps of the run: `train.steps`, or the steps of
  /// `train.epochs`; for validation the batches of one pass.
  int64_t steps() const;
  /// The number of rows of one global batch.
  int64_t globalBatch() const;
  /// The number of rows in steps 0 ... step - 1, without empty ones.
  int64_t samplesBefore(int64_t step) const;
  /// The number of epochs completed before a step, including the fraction of
  /// the current one.
  double epochsBefore(int64_t step) const;
  /// The rows of each source of a blend in steps 0 ... step - 1; empty for
  /// other kinds.
  std::vector<SourceRows> sourcesBefore(int64_t step) const {
    return rows->sourcesBefore(samplesBefore(step));
  }
  /// The peak memory of the data during the run in bytes.
  int64_t bytes() const { return rows->bytes(); }
  /// The number of rows of an epoch.
  int64_t rowsOfEpoch(int64_t epoch) const { return rows->ofEpoch(epoch); }

  /// Writes a micro-batch of a step (both from 0). `samples` gets step * G + i.
  Status fill(int64_t step, int64_t microBatch, const BatchView& view) const;

  /// The number of tokens of a step's global batch that count in the loss.
  Expected<double> weight(int64_t step) const;

  /// The size of an epoch: `12 rows an epoch`.
  std::string extent() const { return rows->extent(); }
  /// The origin of the rows of a step, or of this rank's micro-batch of it: the
  /// first few, for messages; empty for mock data.
  std::string origin(int64_t step) const;
  std::string origin(int64_t step, int64_t microBatch) const;
  /// Notes for the user about the data, one per line.
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
