// Findings on the objects of manifests, one function a subject.

#ifndef RECIPEC_IMPORT_MANIFEST_FINDINGS_H
#define RECIPEC_IMPORT_MANIFEST_FINDINGS_H

#include "compiler/import/manifest/Objects.h"

namespace recipec::importer::manifest {

/// Versions and kinds that clusters do not serve, and fields against the shape
/// of the kind.
void checkFields(const Object& object, diag::Engine& engine);

/// Rules of the API server and of webhooks for jobs, and policies that probably
/// do not do what was meant: restarts, deadlines, clean-up.
void checkPolicies(const Manifest& manifest, diag::Engine& engine);

/// Rules of the API server for pods, and what their containers lack: shared
/// memory, permissions for RDMA, names of Services, probes.
void checkPods(const Manifest& manifest, diag::Engine& engine);

/// Numbers of processes, pods and GPUs, and degrees of parallelism.
void checkRanks(const Manifest& manifest, diag::Engine& engine);

/// Names, labels and ports by which objects refer to each other.
void checkReferences(const Manifest& manifest, diag::Engine& engine);

/// Whether a variable's value is probably a password or a token.
bool isSecretVariable(std::string_view name, std::string_view value);

/// Passwords and tokens in plain text.
void checkSecrets(const Manifest& manifest, diag::Engine& engine);

/// The environment of the pods; see compiler/environment.
void checkEnvironment(const Manifest& manifest, diag::Engine& engine);

/// All of these.
void checkManifest(const Manifest& manifest, diag::Engine& engine);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_FINDINGS_H
