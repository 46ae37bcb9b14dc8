// Recipes from the trainings of manifests.

#ifndef RECIPEC_DRIVER_MANIFESTRECIPE_H
#define RECIPEC_DRIVER_MANIFESTRECIPE_H

#include "compiler/driver/Session.h"
#include "compiler/import/Job.h"
#include "compiler/import/manifest/Objects.h"

#include <vector>

namespace recipec::driver {

/// A job for each object that trains: a recipe if its command or its fields
/// describe a model of the library, else a mixin with the section `launch`.
std::vector<importer::Job>
jobsOfManifest(Session& session, const importer::manifest::Manifest& manifest);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MANIFESTRECIPE_H
