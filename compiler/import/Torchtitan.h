// Configurations of torchtitan, in TOML.

#ifndef RECIPEC_IMPORT_TORCHTITAN_H
#define RECIPEC_IMPORT_TORCHTITAN_H

#include "compiler/import/Job.h"
#include "compiler/import/Rules.h"

#include <optional>
#include <vector>

namespace recipec::importer {

/// The rules for the keys of torchtitan's TOML.
std::span<const Rule> torchtitanRules();

/// Makes the job from the values. Reports at `range` a model that the library
/// lacks.
std::optional<UnsizedJob> torchtitanJob(Found found,
                                        const std::vector<Model>& library,
                                        SourceRange range,
                                        diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_TORCHTITAN_H
