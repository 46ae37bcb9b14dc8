// What the runs of a sweep have come to, a line a point.

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
  std::filesystem::path folder; // of the run, with its metrics.jsonl
  double seconds = 0;           // from the launch to its end
};

/// Prints the last loss, the last validation loss, the median of the steps'
/// tokens/s, the time and the folder of each; `-` where the run has told none.
void printSweep(const std::vector<FinishedPoint>& points, std::ostream& out);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SWEEPTABLE_H
