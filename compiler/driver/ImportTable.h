// Imports a table of recommended configurations of NeMo's performance scripts.

#ifndef RECIPEC_DRIVER_IMPORTTABLE_H
#define RECIPEC_DRIVER_IMPORTTABLE_H

#include "compiler/driver/Session.h"
#include "compiler/import/Arguments.h"
#include "compiler/import/Job.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// The jobs of the CSV file at `path`, or the one that `wanted` selects by its
/// line or by the name of its recipe, if `wanted` is not empty. Rows without a
/// counterpart get a diagnostic; the others are imported.
std::vector<importer::Job> importTable(Session& session,
                                       const std::string& path,
                                       const std::string& wanted);

/// The job of a command of NeMo's performance scripts. The CSV file at `table`
/// has the defaults of the options that are not given; it may be empty.
std::vector<importer::Job>
importScript(Session& session, const std::vector<importer::Word>& command,
             const std::string& table);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTTABLE_H
