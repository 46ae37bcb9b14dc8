// What a log of nccl-tests says about its number of ranks, apart from the
// measured rows.

#ifndef RECIPEC_IMPORT_RANKCLAIMS_H
#define RECIPEC_IMPORT_RANKCLAIMS_H

#include "compiler/base/Source.h"
#include "runtime/benchlog/BenchLog.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

namespace benchlog = reciperun::benchlog;

/// A place that gives a number of ranks.
struct RankClaim {
  int64_t ranks = 0;
  std::string text; // `64 GPUs`
  SourceRange range;
};

/// The claims of the text between two offsets: `64 GPUs`, `-np 64`, times the
/// GPUs of a process by `-g 8`. Numbers of a host, as in `8 GPUs per node` and
/// `2 nodes with 8 GPUs`, are left out.
std::vector<RankClaim> claimsOfText(std::string_view text, size_t begin,
                                    size_t end, SourceId source);

/// The claim of the lines `# Rank ...`, whose ranks count from 0; none without
/// such lines.
std::vector<RankClaim> claimsOfRanks(const benchlog::BenchLog& log,
                                     SourceId source);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_RANKCLAIMS_H
