// The output of `recipec explain FILE PATH`.

#ifndef RECIPEC_DRIVER_PROVENANCE_H
#define RECIPEC_DRIVER_PROVENANCE_H

#include "compiler/sema/recipes/Explain.h"

#include <string>

namespace recipec::driver {

/// For people:
///
///   parallel.dp = 4  (int | auto)
///     Data parallelism: shards the batch. What the other degrees leave.
///     derived as `ranks / (cp * tp * pp)`  std/schema/parallel.recipe:30
///       `cluster.ranks` is 8               sft.recipe:12:33
///   history, the last wins:
///     default  `ranks / (cp * tp * pp)`  std/schema/parallel.recipe:30
std::string provenanceText(const sema::Explanation& explanation,
                           const SourceMap& sources);

/// One object: `path value type doc origin expression operands history fields`.
std::string provenanceJson(const sema::Explanation& explanation,
                           const SourceMap& sources);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PROVENANCE_H
