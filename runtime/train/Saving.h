// Decides when a run saves checkpoints, and coordinates the ranks.
//
// Checkpoints are written while steps continue: first the rank files and, once
// all ranks have finished theirs, the manifest. After each step the ranks
// exchange how far they are (Training::shareState).

#ifndef RECIPERUN_TRAIN_SAVING_H
#define RECIPERUN_TRAIN_SAVING_H

#include "runtime/checkpoint/Saver.h"
#include "runtime/comm/Communicator.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/StepRecord.h"

#include <chrono>
#include <optional>
#include <string>

namespace reciperun::train {

class Saving {
public:
  /// The arguments outlive the object.
  Saving(const plan::Plan& plan, comm::Communicator& communicator,
         device::Device& device, const memory::Arena& arena);

  /// Allocates memory. Rank 0 must have opened `folder`. Fails only on this
  /// rank. Otherwise like Saver::open.
  Status open(checkpoint::CheckpointFolder folder, const std::string& run,
              std::vector<checkpoint::Setting> settings);

  /// Like Saver::passOver.
  void passOver(int64_t step, const std::string& reason) {
    saver.passOver(step, reason);
  }

  /// The progress that a rank reports to the others. The ranks combine reports
  /// by maximum.
  struct Report {
    enum Progress : int64_t { done, busy, failed };
    int64_t progress = done;
    int64_t timeIsUp = 0; // 1 when a checkpoint is due by rank 0's clock
  };
  Report report();

  /// Advances the checkpoint in progress when the reports of all ranks allow
  /// it. Fails on all ranks with one message.
  Status proceed(const Report& all);

  /// Whether a checkpoint is due after `step` steps.
  bool isDue(int64_t step, const Report& all) const;

  /// `save` starts to save the current state, after any earlier checkpoint is
  /// complete. `finish` waits for the checkpoint in progress. Both are
  /// collective.
  Status save(const checkpoint::Position& position,
              std::optional<double> validLoss);
  Status finish();

  /// Returns and clears the checkpoint published since the last call.
  std::optional<SavedCheckpoint> takeSaved();
  /// Returns and clears the message about checkpoints published since the last
  /// call.
  std::string takeNews();
  /// The path of the last published checkpoint; empty when there is none.
  const std::string& published() const { return saver.published(); }

private:
  using Clock = std::chrono::steady_clock;

  Status advance();

  const plan::Plan& plan;
  comm::Communicator& communicator;
  checkpoint::ArenaBuffers buffers;
  checkpoint::Saver saver;
  std::optional<Status> outcome; // of this rank's work in the phase, once done
  Clock::time_point began = Clock::now(); // start of the last checkpoint
  int64_t step = 0;                       // of the last checkpoint
  std::optional<SavedCheckpoint> saved;
  std::string news;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_SAVING_H
