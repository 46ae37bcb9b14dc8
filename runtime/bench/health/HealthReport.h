// The health of the ranks of a job: what each device sustains, what each pair
// of ranks moves, and what the driver counts.

#ifndef RECIPERUN_BENCH_HEALTH_HEALTHREPORT_H
#define RECIPERUN_BENCH_HEALTH_HEALTHREPORT_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::bench {

/// A rate of one rank, in `unit` a second.
struct HealthFigure {
  std::string name; // `matmul bf16`
  std::string unit; // `FLOP/s`, `B/s`
  double rate = 0;
};

struct RankHealth {
  int rank = 0;
  std::string host;
  int place = 0;       // the rank's index on its host
  std::string device;  // its name, `NVIDIA H200`
  std::string address; // on PCI, `0000:1b:00`; empty: none
  std::vector<HealthFigure> figures;
  /// What the driver counts or reports that no healthy GPU has.
  std::vector<std::string> faults;
  /// What need not be a fault.
  std::vector<std::string> notes;
};

/// What two ranks exchange, each sending and receiving at the same time.
struct LinkHealth {
  int first = 0, second = 0; // ranks; first < second
  std::string kind;          // `NV18`, `SYS`, `memory`, `network`
  double rate = 0;           // B/s in one direction
};

struct HealthReport {
  std::vector<RankHealth> ranks; // by rank
  std::vector<LinkHealth> links;
};

/// `node7 GPU 3 (rank 11)`, `node7 place 3 (rank 11)` without a GPU.
std::string nameOf(const RankHealth& rank);

/// `705.3 TFLOP/s`, `329.7 GB/s`.
std::string rateText(double rate, const std::string& unit);

/// A line for each rank: its place, its figures and its slowest link.
std::string tableOf(const HealthReport& report);

/// `version` 1, `ranks`, `links`, and `problems`.
std::string toJson(const HealthReport& report,
                   const std::vector<std::string>& problems);
/// Reads what toJson has written.
Expected<HealthReport> readHealthReport(std::string_view text);

/// A rank as a line of JSON, and back.
std::string toJson(const RankHealth& rank);
Expected<RankHealth> readRankHealth(std::string_view text);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_HEALTH_HEALTHREPORT_H
