// metrics.jsonl: one JSON object a step.

#ifndef RECIPERUN_TRAIN_METRICS_METRICSFILE_H
#define RECIPERUN_TRAIN_METRICS_METRICSFILE_H

#include "runtime/base/Status.h"
#include "runtime/train/metrics/LineWriter.h"
#include "runtime/train/metrics/StepRecord.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::train {

/// A row as it was read. A number that is absent or null (NaN) is nullopt.
struct MetricsRow {
  int64_t step = 0, samples = 0;
  std::optional<double> time, epoch, loss, validLoss, learningRate, gradNorm;
  std::optional<double> stepSeconds, tokensPerSecond, tflopsPerRank, mfu;
  std::optional<double> deviceBytes;
  PhaseSeconds phases = {}; // 0 where absent
  double saving = 0;
};

/// Parses a line; nullopt when it is not a valid row.
std::optional<MetricsRow> parseMetricsRow(std::string_view line);

/// A warning about lines of `path` that are not valid rows; empty when there
/// are none.
std::string damagedRowsText(const std::filesystem::path& path,
                            const std::vector<int64_t>& lines);

/// The valid rows of a file.
struct MetricsRows {
  std::vector<MetricsRow> rows;
  std::vector<std::string> texts; // their lines
  /// Numbers of the lines that are not valid rows, without an incomplete last
  /// line, which a killed process leaves.
  std::vector<int64_t> damaged;
};

/// Reads the rows of steps that had consumed at most `samples` samples, if it
/// is given. A file that does not exist has no rows.
Expected<MetricsRows> readMetricsRows(const std::filesystem::path& path,
                                      std::optional<int64_t> samples = {});

/// Writes the rows by a background thread.
class MetricsFile {
public:
  /// Opens the file and keeps its rows for steps that consumed at most
  /// `samples` samples; new rows follow them. Samples identify a step, because
  /// a step number depends on the global batch.
  static Expected<MetricsFile> open(const std::filesystem::path& path,
                                    int64_t samples);
  /// Fails when an earlier row could not be written.
  Status write(const StepRecord& record);
  /// Waits until the file contains all rows.
  Status wait() { return lines->wait(); }
  /// The losses of the rows that were kept.
  const std::vector<double>& keptLosses() const { return losses; }
  /// The sum of their `step_seconds`.
  double keptSeconds() const { return seconds; }
  /// A warning about lines that were not valid rows and were dropped; usually
  /// empty. It omits an incomplete last line.
  const std::string& note() const { return complaint; }

private:
  std::vector<double> losses;
  double seconds = 0;
  std::string complaint;
  std::unique_ptr<LineWriter> lines;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_METRICSFILE_H
