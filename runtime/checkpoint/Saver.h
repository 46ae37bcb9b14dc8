// Saves a checkpoint while the training continues.
//
//   begin      Each rank copies its shards; a background thread writes them.
//   writing    Lasts until all ranks' files are on the disk.
//   publishing Rank 0 writes the manifest, renames the checkpoint and
//              removes old ones, again on a background thread.
//
// Threads only access files, never a communicator. The caller finds out whether
// all ranks have finished a phase and then advances all of them. Without
// `async` the calls do the same work synchronously.

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

  /// The plan and the buffers must outlive the object.
  Saver(const plan::Plan& plan, int rank, const BufferAccess& buffers);
  /// Waits for a running background thread.
  ~Saver();

  /// Allocates the memory of the copy. On rank 0 `folder` must have been
  /// opened; other ranks only use its path. `run` is the job's id (see SaveId);
  /// `settings` are the recipe's settings that rank 0 writes.
  Status open(CheckpointFolder folder, const std::string& run,
              std::vector<Setting> settings);

  /// Like CheckpointFolder::passOver; call it after open.
  void passOver(int64_t step, const std::string& reason);

  Phase phase() const { return current; }

  /// In phase idle: saves the current state. Returns when it is copied;
  /// `outcome` reports a failure of the copy.
  void begin(const Position& position, std::optional<double> validLoss);

  /// Whether this rank's work on the phase is still running.
  bool isBusy() const;
  /// Waits for this rank's work on the phase and returns its status.
  Status outcome();
  /// Advances to the next phase; all ranks must have finished this one
  /// successfully.
  void advance();
  /// Gives up the checkpoint because some rank has failed.
  void abandon() { current = Phase::idle; }

  /// The last published checkpoint; empty before the first.
  const std::string& published() const { return lastPublished; }
  /// In phase idle: old checkpoints that could not be removed, and why.
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
  memory::Arena staging; // for asynchronous checkpoints
  Manifest manifest;     // of the current checkpoint; complete on rank 0
  Phase current = Phase::idle;
  std::future<Status> work;
  Status result; // of finished work
  std::string lastPublished;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_SAVER_H
