// Saving a checkpoint while the training goes on.
//
//   begin     each rank copies what it writes; a thread of its own writes it
//   writing   ... until all ranks' files are on the disk
//   publishing  rank 0 writes the manifest, puts the checkpoint in place and
//             removes those that are not kept; again on a thread
//
// Threads touch files alone, never a communicator: whether all ranks are done
// with a phase is for the caller to find out, who then has all of them advance.
// Without `async` the same happens within the calls.

#ifndef RECIPERUN_CHECKPOINT_SAVER_H
#define RECIPERUN_CHECKPOINT_SAVER_H

#include "runtime/checkpoint/BufferAccess.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/RankFile.h"
#include "runtime/memory/Arena.h"

#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

class Saver {
public:
  enum class Phase { idle, writing, publishing };

  /// The plan and the buffers outlive the object.
  Saver(const plan::Plan& plan, int rank, const BufferAccess& buffers);
  /// Waits for a thread that is at work.
  ~Saver();

  /// Takes the memory of the copy. On rank 0 `folder` has been opened; other
  /// ranks know its path alone. `run` is the job's (see SaveId), `settings`
  /// what rank 0 writes of the recipe.
  Status open(CheckpointFolder folder, const std::string& run,
              std::vector<Setting> settings);

  /// As CheckpointFolder::passOver, behind open.
  void passOver(int64_t step, const std::string& reason);

  Phase phase() const { return current; }

  /// In phase idle: saves the state as it is now. Returns when it is copied;
  /// whether that went well is part of the phase's outcome.
  void begin(const Position& position, std::optional<double> validLoss);

  /// Whether this rank is still at work on the phase.
  bool isBusy() const;
  /// How this rank's work on the phase went; waits for it.
  Status outcome();
  /// All ranks have done the phase's work without a failure.
  void advance();
  /// Some rank has failed: what is written is given up.
  void abandon() { current = Phase::idle; }

  /// The checkpoint that was published last; empty before.
  const std::string& published() const { return lastPublished; }
  /// In phase idle: what of older ones could not be removed, and why.
  std::vector<std::string> takeLeftovers();

private:
  void start(std::function<Status()> work);
  Status write() const;
  Status publish();

  const plan::Plan& plan;
  int rank;
  const BufferAccess& buffers;
  RankFile file;
  std::optional<CheckpointFolder> folder;
  memory::Arena staging; // of an asynchronous checkpoint
  Manifest manifest;     // of the checkpoint in the making; whole on rank 0
  Phase current = Phase::idle;
  std::future<Status> work;
  Status result; // of work that is over
  std::string lastPublished;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SAVER_H
