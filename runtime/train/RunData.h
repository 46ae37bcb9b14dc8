// The data of a run on one rank: its share of the training and the validation
// set, and the tokenizer while they are read.

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
  /// The plan and its stage of the rank outlive the object.
  RunData(const plan::Plan& plan, const plan::Stage& stage, int rank)
      : plan(plan), stage(stage), rank(rank) {}

  /// Reads both sets, or the validation set alone, which the plan must have
  /// then. Fail on this rank.
  Status open();
  Status openValidation();

  /// Each rank reads its own files, and all go by their number of rows.
  /// Collective.
  Status compare(comm::Communicator& communicator) const;

  /// What reading took beside what is kept goes back to the system, so that it
  /// does not add to the arena.
  void closeTokenizer();

  /// That are kept on the host.
  int64_t bytes() const;
  /// The most that the process held while data was read.
  int64_t readingPeak() const { return peak; }
  /// Of what the recipe's chat lacks in the tokenizer.
  const std::vector<std::string>& tokenizerNotes() const { return notes; }

  std::optional<data::Loader> train;
  std::optional<data::Loader> valid; // where the plan has one

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
