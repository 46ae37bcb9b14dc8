// Evaluates and compiles jobs while they are imported.

#ifndef RECIPEC_DRIVER_IMPORTTRIALS_H
#define RECIPEC_DRIVER_IMPORTTRIALS_H

#include "compiler/driver/Loader.h"
#include "compiler/import/FitJob.h"
#include "compiler/import/Job.h"

namespace recipec::driver {

/// The sizes of a model of the standard library; all 0 if there is no such
/// model, or if its fields have errors.
importer::ModelFacts factsOf(const FileLoader& library,
                             const importer::Model& model);

/// Whether the recipe of the job compiles and fits the memory of its devices.
bool fits(const FileLoader& library, const importer::Job& job);

/// The job on the fewest nodes that it fits on, or on the number of ranks that
/// it gives.
importer::Job onFewestNodes(const FileLoader& library,
                            const importer::UnsizedJob& unsized);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_IMPORTTRIALS_H
