// A run in a folder of MLflow, its file store
// (mlflow/store/tracking/file_store.py):
//
//   ROOT/0/meta.yaml          the experiment `Default`
//   ROOT/0/RUN/meta.yaml      the run: its name, times and status
//   ROOT/0/RUN/metrics/NAME   a line a step: milliseconds since 1970, value,
//   step ROOT/0/RUN/params/NAME    a value; also in tags/
//
// RUN is the same for each start of a run, so that a resumed one goes on.

#ifndef RECIPERUN_TRAIN_METRICS_MLFLOWRUN_H
#define RECIPERUN_TRAIN_METRICS_MLFLOWRUN_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/FileAppender.h"
#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

struct MlflowBegin {
  std::filesystem::path root, directory; // MLflow's folder; that of the run
  std::vector<std::pair<std::string, std::string>> parameters;
  double time = 0;   // of the run's first start, see epochSeconds()
  int64_t steps = 0; // done before; later ones are removed
};

class MlflowRun {
public:
  /// Adds the run to the folder, which need not exist, as a running one.
  static Expected<MlflowRun> begin(const MlflowBegin& begin);

  /// Fails when an earlier step could not be written.
  Status write(const StepRecord& record);
  /// Records that the run has ended; `reason` is `complete`, `signal` or
  /// `failure`.
  Status end(double time, const std::string& reason);
  Status wait() { return files->wait(); }

private:
  std::filesystem::path folder;
  std::string id, name;
  double start = 0;
  std::unique_ptr<FileAppender> files;

  Status writeMeta(int status, const std::string& end) const;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_MLFLOWRUN_H
