// Imports a configuration of NeMo in YAML.

#ifndef RECIPEC_DRIVER_IMPORTYAML_H
#define RECIPEC_DRIVER_IMPORTYAML_H

#include "compiler/driver/Session.h"
#include "compiler/import/Entries.h"
#include "compiler/import/Job.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::driver {

/// The job of the YAML file at `path`; nullopt with diagnostics.
std::optional<importer::Job> importYaml(Session& session,
                                        const std::string& path);

/// The job of entries with NeMo's keys, say those of a NeMoTraining; nullopt
/// with diagnostics. Reports at `place` a model that the library lacks.
std::optional<importer::Job>
nemoJob(Session& session, const std::string& name,
        const std::vector<importer::Entry>& entries, SourceRange place);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTYAML_H
