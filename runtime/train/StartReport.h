// The lines that a run prints before its first step: what it trains, on what,
// from which weights, and with how much memory.

#ifndef RECIPERUN_TRAIN_STARTREPORT_H
#define RECIPERUN_TRAIN_STARTREPORT_H

#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/FolderLock.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/RunData.h"
#include "runtime/train/Start.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::train {

/// The inputs of the lines. Only rank 0 prints them.
struct StartReport {
  const plan::Plan& plan;
  const plan::MemoryTable& memory; // of the rank's stage
  const device::Device& device;
  const RunData& sets;
  const Start& start;
  const checkpoint::CheckpointFolder& checkpoints;
  const std::vector<checkpoint::FolderLock>& locks;
  int64_t arena = 0;     // bytes
  int64_t predicted = 0; // bytes of a rank, with the data

  std::vector<std::string> lines() const;
  /// The lines of another start, after a checkpoint was found to be damaged.
  std::vector<std::string> linesOfFallBack() const;
  /// ``checkpoint `...` is damaged and passed over: REASON``.
  std::string damagedText(int64_t step, const std::string& reason) const;

private:
  using Lines = std::vector<std::string>;

  std::string modelText() const;
  std::string weightsText() const;
  std::string learningRateText() const;
  void addData(Lines& lines) const;
  void addFolder(Lines& lines) const;
  void addMemory(Lines& lines) const;
  void addResumed(Lines& lines) const;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_STARTREPORT_H
