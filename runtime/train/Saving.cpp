// The collective side of saving. All ranks go through the same phases at the
// same steps, because they decide by the combined reports.

#include "runtime/train/Saving.h"

#include <cstdio>

namespace reciperun::train {

using checkpoint::Saver;

Saving::Saving(const plan::Plan& plan, comm::Communicator& communicator,
               device::Device& device, const memory::Arena& arena)
    : plan(plan), communicator(communicator),
      buffers(plan, communicator.rank(), arena, device),
      saver(plan, communicator.rank(), buffers) {}

Status Saving::open(checkpoint::CheckpointFolder folder, const std::string& run,
                    std::vector<checkpoint::Setting> settings) {
  return saver.open(std::move(folder), run, std::move(settings));
}

Saving::Report Saving::report() {
  Report mine;
  if (saver.phase() != Saver::Phase::idle) {
    if (!outcome && !saver.isBusy())
      outcome = saver.outcome();
    mine.progress = !outcome          ? Report::busy
                    : outcome->isOk() ? Report::done
                                      : Report::failed;
  }
  std::chrono::duration<double> passed = Clock::now() - began;
  mine.timeIsUp = plan.checkpoint.everySeconds > 0 &&
                  communicator.rank() == 0 &&
                  passed.count() >= plan.checkpoint.everySeconds;
  return mine;
}

Status Saving::proceed(const Report& all) {
  if (saver.phase() == Saver::Phase::idle || all.progress == Report::busy)
    return Status::ok();
  return advance();
}

/// Waits for this rank's work and moves to the next phase, or abandons the
/// checkpoint when a rank has failed.
Status Saving::advance() {
  if (!outcome)
    outcome = saver.outcome();
  Status agreed = communicator.agree(*outcome);
  outcome.reset();
  if (!agreed.isOk()) {
    saver.abandon();
    return agreed;
  }
  saver.advance();
  if (saver.phase() != Saver::Phase::idle)
    return Status::ok();
  std::chrono::duration<double> passed = Clock::now() - began;
  saved = SavedCheckpoint{saver.published(), step, passed.count()};
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.2f", passed.count());
  news = "saved `" + saver.published() + "` in " + seconds + " s";
  for (const std::string& leftover : saver.takeLeftovers())
    news += "\nnote: " + leftover;
  return Status::ok();
}

bool Saving::isDue(int64_t step, const Report& all) const {
  return all.timeIsUp > 0 ||
         (plan.checkpoint.every > 0 && step % plan.checkpoint.every == 0);
}

Status Saving::save(const checkpoint::Position& position,
                    std::optional<double> validLoss) {
  RECIPERUN_TRY(finish());
  began = Clock::now();
  step = position.step;
  saver.begin(position, validLoss);
  return plan.checkpoint.async ? Status::ok() : finish();
}

Status Saving::finish() {
  while (saver.phase() != Saver::Phase::idle)
    RECIPERUN_TRY(advance());
  return Status::ok();
}

std::optional<SavedCheckpoint> Saving::takeSaved() {
  return std::exchange(saved, std::nullopt);
}

std::string Saving::takeNews() {
  return std::exchange(news, {});
}

} // namespace reciperun::train
