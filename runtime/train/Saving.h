// When a run saves checkpoints, and how its ranks get through it together.
//
// A checkpoint is made while steps go on: its files, then, when all ranks have
// theirs, its manifest. Ranks learn from the numbers that they share after each
// step how far the others are.

#ifndef RECIPERUN_TRAIN_SAVING_H
#define RECIPERUN_TRAIN_SAVING_H

#include "runtime/checkpoint/Saver.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Plan.h"

#include <chrono>
#include <optional>
#include <string>

namespace reciperun::train {

class Saving {
public:
  /// The arguments outlive the object.
  Saving(const plan::Plan& plan, comm::Communicator& communicator,
         device::Device& device, const memory::Arena& arena);

  /// Takes memory; rank 0 has opened `folder`. Fails on this rank alone.
  /// Otherwise as Saver::open.
  Status open(checkpoint::CheckpointFolder folder, const std::string& run,
              std::vector<checkpoint::Setting> settings);

  /// As Saver::passOver.
  void passOver(int64_t step, const std::string& reason) {
    saver.passOver(step, reason);
  }

  /// What a rank tells the others; of all ranks the largest value counts.
  struct Report {
    enum Progress : int64_t { done, busy, failed };
    int64_t progress = done;
    int64_t timeIsUp =
        0; // where checkpoints come by the clock, which is rank 0's
  };
  Report report();

  /// Goes on with the checkpoint in the making as all ranks' reports allow.
  /// Fails on all ranks with one message.
  Status proceed(const Report& all);

  /// Whether a checkpoint is due when `step` steps are over.
  bool isDue(int64_t step, const Report& all) const;

  /// Saves the state as it is, when an earlier checkpoint is done. Collective,
  /// as is finish, which waits for the checkpoint in the making.
  Status save(const checkpoint::Position& position,
              std::optional<double> validLoss);
  Status finish();

  /// A line about each checkpoint that has been published since the last call.
  std::string takeNews();
  /// The checkpoint that was published last; empty before.
  const std::string& published() const { return saver.published(); }

private:
  using Clock = std::chrono::steady_clock;

  Status advance();

  const plan::Plan& plan;
  comm::Communicator& communicator;
  checkpoint::ArenaBuffers buffers;
  checkpoint::Saver saver;
  std::optional<Status> outcome; // of this rank's work on the phase, when over
  Clock::time_point began = Clock::now(); // the last checkpoint
  std::string news;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SAVING_H
