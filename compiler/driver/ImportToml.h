// Jobs from configurations of torchtitan, in TOML.

#ifndef RECIPEC_DRIVER_IMPORTTOML_H
#define RECIPEC_DRIVER_IMPORTTOML_H

#include "compiler/driver/Session.h"
#include "compiler/import/Job.h"

#include <optional>
#include <string>

namespace recipec::driver {

/// The job of the file. Returns nullopt, with diagnostics, if it cannot be
/// read or if the library lacks its model.
std::optional<importer::Job> importToml(Session& session,
                                        const std::string& path);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTTOML_H
