// Imports a configuration of NeMo in YAML.

#ifndef RECIPEC_DRIVER_IMPORTYAML_H
#define RECIPEC_DRIVER_IMPORTYAML_H

#include "compiler/driver/Session.h"
#include "compiler/import/Job.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// The job of the YAML file at `path`; nullopt with diagnostics.
std::optional<importer::Job> importYaml(Session& session,
                                        const std::string& path);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTYAML_H
