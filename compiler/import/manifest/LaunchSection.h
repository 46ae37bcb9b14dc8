// The section `launch` of a recipe from the pods of a job.

#ifndef RECIPEC_IMPORT_MANIFEST_LAUNCHSECTION_H
#define RECIPEC_IMPORT_MANIFEST_LAUNCHSECTION_H

#include "compiler/import/Job.h"
#include "compiler/import/manifest/Commands.h"
#include "compiler/import/manifest/Objects.h"

#include <optional>
#include <vector>

namespace recipec::importer::manifest {

/// An object that trains, and the command of its ranks.
struct Training {
  const Object* object = nullptr;
  const Pod* pod = nullptr; // with ranks; nullptr: the object has no pods
  Node container = {};      // the one of the pod, or the trainer of a TrainJob
  int64_t ranks = 1, ranksPerNode = 1;
  Start start = {};
};

/// The objects that train a model on GPUs, in the order of the files.
std::vector<Training> trainingsOf(const Manifest& manifest);

/// Adds what the manifest says about the cluster as fields of `launch`, and the
/// fields without a counterpart as omissions.
void addLaunchSection(const Training& training, Job& job);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_LAUNCHSECTION_H
