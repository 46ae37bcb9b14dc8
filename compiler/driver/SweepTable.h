// The results of a sweep's runs, one line a point.

#ifndef RECIPEC_DRIVER_SWEEPTABLE_H
#define RECIPEC_DRIVER_SWEEPTABLE_H

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace recipec::driver {

/// A point that has been run.
struct FinishedPoint {
  std::string name;
  std::filesystem::path folder; // of the run; holds metrics.jsonl
  double seconds = 0;           // from launch to exit
};

/// Prints the last loss, the last validation loss, the median tokens/s of the
/// steps, the time and the folder of each point; `-` for a value that the run
/// did not report.
void printSweep(const std::vector<FinishedPoint>& points, std::ostream& out);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SWEEPTABLE_H
