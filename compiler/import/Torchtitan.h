// Configurations of torchtitan, in TOML.

#ifndef RECIPEC_IMPORT_TORCHTITAN_H
#define RECIPEC_IMPORT_TORCHTITAN_H

#include "compiler/import/Rules.h"

#include <optional>
#include <vector>

namespace recipec::importer {

/// The rules for the keys of torchtitan's TOML.
std::span<const Rule> torchtitanRules();

struct TorchtitanJob {
  Job job;
  /// The ranks of a replica of the batch's parts: tp * cp * pp * replicas. The
  /// number of ranks is a multiple that the launcher chooses. 0: the job says
  /// its ranks.
  int64_t multiple = 0;
  /// Sequences of a rank of `dp`; 0 where the file says the global batch.
  int64_t perRank = 0;
};

/// The job of the values. Reports a model that the library lacks at `range`.
std::optional<TorchtitanJob> torchtitanJob(Found found,
                                           const std::vector<Model>& library,
                                           SourceRange range,
                                           diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_TORCHTITAN_H
