// Findings on sbatch scripts, one function a subject.

#ifndef RECIPEC_IMPORT_SBATCH_FINDINGS_H
#define RECIPEC_IMPORT_SBATCH_FINDINGS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/sbatch/Script.h"

namespace recipec::importer::sbatch {

/// Lines that sbatch does not read, options that it refuses, and signals and
/// requeues that do not do what was meant.
void checkOptions(const Script& script, diag::Engine& engine);

/// Tasks, processes and GPUs of a node, and the numbers that commands repeat.
void checkRanks(const Script& script, diag::Engine& engine);

/// Variables that the ranks do not see, that are the same for all of them where
/// they must differ, or that hold a secret; and those of NCCL: see
/// compiler/environment.
void checkVariables(const Script& script, diag::Engine& engine);

/// All of these.
void checkScript(const Script& script, diag::Engine& engine);

} // namespace recipec::importer::sbatch

#endif // RECIPEC_IMPORT_SBATCH_FINDINGS_H
