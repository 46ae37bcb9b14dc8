// See RunRecorder.h.

#include "runtime/train/metrics/RunRecorder.h"

#include <algorithm>
#include <utility>

namespace reciperun::train {

Expected<RunRecorder> RunRecorder::open(const RunFolders& folders,
                                        const RunBegin& begin,
                                        TrainMetrics* served) {
  Expected<MetricsFile> metrics = MetricsFile::open(
      folders.run / "metrics.jsonl", begin.resumes() ? begin.samples : 0);
  RECIPERUN_TRY(metrics);
  Expected<RunEventsFile> events = RunEventsFile::open(
      folders.run / "events.jsonl",
      begin.resumes() ? LineWriter::Mode::append : LineWriter::Mode::truncate);
  RECIPERUN_TRY(events);
  RunRecorder made(*std::move(metrics), *std::move(events), served);
  RECIPERUN_TRY(made.begin(begin));
  RECIPERUN_TRY(made.openForOthers(folders, begin));
  return made;
}

Status RunRecorder::openForOthers(const RunFolders& folders,
                                  const RunBegin& begin) {
  if (!folders.tensorboard.empty()) {
    Expected<TensorBoardFile> file =
        TensorBoardFile::create(folders.tensorboard, begin.time, begin.step);
    if (!file)
      return file.status().withContext("`train.tensorboard`");
    tensorboard = *std::move(file);
  }
  if (!folders.mlflow.empty()) {
    Expected<MlflowRun> run =
        MlflowRun::begin({.root = folders.mlflow,
                          .directory = folders.run,
                          .parameters = folders.parameters,
                          .time = firstStart,
                          .steps = begin.step});
    if (!run)
      return run.status().withContext("`train.mlflow`");
    mlflow = *std::move(run);
  }
  return Status::ok();
}

Status RunRecorder::begin(const RunBegin& begin) {
  const std::vector<RunEvent>& earlier = events.earlier();
  firstStart = earlier.empty() ? begin.time : earlier.front().time;
  productive = metrics.keptSeconds();
  const int64_t restarts =
      begin.resumes() + std::ranges::count(earlier, "resume", &RunEvent::kind);
  if (served)
    served->begin({begin.step, begin.steps, begin.samples, restarts});
  return events.write({.kind = begin.resumes() ? "resume" : "start",
                       .time = begin.time,
                       .step = begin.step,
                       .checkpoint = begin.checkpoint});
}

Status RunRecorder::take(const StepRecord& record) {
  productive += record.times.step;
  const double passed = record.time - firstStart;
  if (served)
    served->take(record, passed > 0 ? std::min(productive / passed, 1.0) : 1);
  if (tensorboard)
    RECIPERUN_TRY(tensorboard->write(record));
  if (mlflow)
    RECIPERUN_TRY(mlflow->write(record));
  return metrics.write(record);
}

Status RunRecorder::take(const SavedCheckpoint& saved) {
  const double now = epochSeconds();
  if (served)
    served->take(saved, now);
  return events.write({.kind = "checkpoint",
                       .time = now,
                       .step = saved.step,
                       .checkpoint = saved.path,
                       .seconds = saved.seconds});
}

Status RunRecorder::takeSpike(const StepRecord& record, double usual) {
  if (served)
    served->countSpike();
  return events.write({.kind = "spike",
                       .time = record.time,
                       .step = record.step,
                       .loss = record.loss,
                       .usual = usual});
}

Status RunRecorder::takeStraggler(const StepRecord& record,
                                  const RankTime& time,
                                  const std::string& text) {
  if (served)
    served->countStraggler();
  return events.write({.kind = "straggler",
                       .time = record.time,
                       .step = record.step,
                       .rank = time.rank,
                       .host = time.place.host,
                       .ratio = time.ratio,
                       .message = text});
}

Status RunRecorder::takeSpotNotice(const StepRecord& record,
                                   const std::string& text) {
  return events.write({.kind = "spot_notice",
                       .time = record.time,
                       .step = record.step,
                       .message = text});
}

void RunRecorder::take(const RankTimes& times) {
  if (served)
    served->take(times);
}

Status RunRecorder::takeEnd(int64_t step, const std::string& reason,
                            const std::string& message) {
  const double now = epochSeconds();
  if (mlflow)
    RECIPERUN_TRY(mlflow->end(now, reason));
  return events.write({.kind = "end",
                       .time = now,
                       .step = step,
                       .reason = reason,
                       .message = message});
}

void RunRecorder::takeBad(const StepRecord& record) {
  if (served)
    served->takeBad(record);
}

Status RunRecorder::wait() {
  RECIPERUN_TRY(metrics.wait());
  if (tensorboard)
    RECIPERUN_TRY(tensorboard->wait());
  if (mlflow)
    RECIPERUN_TRY(mlflow->wait());
  return events.wait();
}

} // namespace reciperun::train
