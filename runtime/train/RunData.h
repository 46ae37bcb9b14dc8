// The data of a run on one rank: its shard of the training and validation sets,
// and the tokenizer while they are read.

#ifndef RECIPERUN_TRAIN_RUNDATA_H
#define RECIPERUN_TRAIN_RUNDATA_H

#include "runtime/comm/Communicator.h"
#include "runtime/data/Loader.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::train {

class RunData {
public:
  /// The plan and its stage must outlive the object.
  RunData(const plan::Plan& plan, const plan::Stage& stage, int rank)
      : plan(plan), stage(stage), rank(rank) {}

  /// `open` reads both sets. `openValidation` reads only the validation set,
  /// which the plan must then have. Failures are local to this rank.
  Status open();
  Status openValidation();

  /// Checks that all ranks found the same number of rows and steps, since each
  /// rank reads its own files. Collective.
  Status compare(comm::Communicator& communicator) const;

  /// Closes the tokenizer and returns the memory that reading used to the
  /// system, so that it does not add to the arena.
  void closeTokenizer();

  /// The size in bytes of the data kept in host memory.
  int64_t bytes() const;
  /// The peak memory of the process while data was read.
  int64_t readingPeak() const { return peak; }
  /// Notes about control tokens of the recipe's chat template that the
  /// tokenizer lacks.
  const std::vector<std::string>& tokenizerNotes() const { return notes; }

  std::optional<data::Loader> train;
  std::optional<data::Loader> valid; // nullopt when the plan has none

private:
  Status openTokenizer();
  Expected<data::Loader> openLoader(data::DataSet set, const char* schedule);

  const plan::Plan& plan;
  const plan::Stage& stage;
  int rank;
  std::optional<data::Tokenizer> tokenizer;
  std::vector<std::string> notes;
  int64_t peak = 0;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_RUNDATA_H
