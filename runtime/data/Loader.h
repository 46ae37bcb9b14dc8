// Batches for the training and validation loops, as a function of the step's
// number alone: a run that starts again at step n gets what the first would
// have got.
//
// The data set is one stream of rows: epoch 0, epoch 1, ..., each shuffled by
// (data.seed, epoch), and packed in that order when `data.pack` is set. Step s
// takes the rows s * G ... s * G + G - 1 of the stream, whatever the layout; a
// step may span two epochs. A run of `train.epochs` ends where the stream has
// given that many; the rows of the last global batch beyond that are empty
// (weight 0, segment -1), so that each document is seen exactly as often as
// asked. Validation takes every document once, in the order of the file.

#ifndef RECIPERUN_DATA_LOADER_H
#define RECIPERUN_DATA_LOADER_H

#include "runtime/data/Documents.h"
#include "runtime/data/Packing.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <cstdint>
#include <map>
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

enum class DataSet { train, valid };

class Loader {
public:
  /// Reads the data set. `tokenizer` may be null for mock data alone and need
  /// not outlive the call. Fails as Documents::read does, for a source that
  /// this version does not read, and for mock data without `train.steps`.
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
  /// Rows of an epoch: documents, or packed rows.
  int64_t rowsOfEpoch(int64_t epoch) const;

  /// Writes a micro-batch of a step (both from 0). `samples` gets step * G + i.
  void fill(int64_t step, int64_t microBatch, const BatchView& view) const;

  /// Places of a step's global batch that count in the loss.
  double weight(int64_t step) const;
  /// 1 / weight(step), or 0 where nothing counts.
  float lossScale(int64_t step) const;

  /// What a user should know about the data, a line each.
  const std::vector<std::string>& notes() const { return messages; }

private:
  struct Place {
    int64_t epoch = 0;
    int64_t row = 0; // of the epoch
  };

  Loader(const plan::Data& data, const plan::Train& train, DataSet set,
         BatchShard shard);
  void limitRows(const plan::Train& train);
  RowLayout layEpoch(int64_t epoch) const;
  const RowLayout& layoutOf(int64_t epoch) const;
  int64_t firstRowOf(int64_t epoch) const;
  Place placeOf(int64_t row) const;
  int64_t weightOfRow(int64_t row) const;
  void fillRow(int64_t row, const BatchView& view) const;
  void fillPart(int64_t row, const BatchView& view) const;
  void fillMockRow(int64_t row, const BatchView& view) const;
  void fillDocument(const Document& document, int segment,
                    const BatchView& view) const;

  DataSet set;
  BatchShard shard;
  bool mock = false;
  bool pack = false;
  int64_t micro = 0;
  int64_t sequence = 0;
  int64_t vocab = 0;
  uint64_t seed = 0;
  int64_t rowLimit = 0; // rows from here on are empty
  std::shared_ptr<const Documents> documents;
  std::vector<int64_t> places; // of each document
  std::vector<std::string> messages;
  /// What has been worked out so far: the rows of the epochs in use and the
  /// row of the stream with which each epoch begins.
  mutable std::map<int64_t, RowLayout> layouts;
  mutable std::vector<int64_t> epochStarts{0};
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_LOADER_H
