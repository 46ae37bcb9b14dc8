// Findings on the results of nccl-tests: numbers that contradict each other.

#ifndef RECIPEC_IMPORT_BENCHFINDINGS_H
#define RECIPEC_IMPORT_BENCHFINDINGS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/RankClaims.h"

#include <optional>

namespace recipec::importer {

/// The numbers of ranks that busbw / algbw of all rows allows, within the
/// rounding of the printed numbers.
struct RankBounds {
  int64_t least = 1, most = 1;
  double factor = 0; // busbw / algbw of the row with the narrowest bounds

  bool allows(int64_t ranks) const { return ranks >= least && ranks <= most; }
};

/// Nullopt when the test's busbw is its algbw, or the rows allow no number.
std::optional<RankBounds> boundsOfRanks(const benchlog::BenchLog& log);

/// `96`, or `95 to 97`.
std::string textOf(const RankBounds& bounds);

/// Reports what is wrong with a log of the source: wrong elements, claims of
/// another number of ranks, rows outside of the settings, bandwidths that do
/// not follow from sizes and times, another average, and a bandwidth above the
/// link.
void reportFindings(const benchlog::BenchLog& log,
                    const std::vector<RankClaim>& claims, SourceId source,
                    diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_BENCHFINDINGS_H
