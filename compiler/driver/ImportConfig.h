// Imports a Hugging Face config.json.

#ifndef RECIPEC_DRIVER_IMPORTCONFIG_H
#define RECIPEC_DRIVER_IMPORTCONFIG_H

#include "compiler/driver/Session.h"
#include "compiler/import/Job.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// A job that pretrains the model of the config.json at `path`, with the
/// smallest number of nodes that it fits on. Of all models of the library that
/// agree with the file, the one with the fewest changed fields is taken.
/// Returns nullopt, with a diagnostic that names what the library lacks, if
/// there is none.
std::optional<importer::Job> importConfig(Session& session,
                                          const std::string& path);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTCONFIG_H
