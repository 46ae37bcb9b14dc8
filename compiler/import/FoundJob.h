// Converts the values that rules have found to a Job.
//
// Besides paths of a recipe that need no change, Found has these names:
//   task, peft, model, model_path      what is trained
//   nodes, devices, tp, cp, pp, vp, ep, etp, dp
//   global, micro, accumulation, sequence
//   precision, optimizer, lr, min_lr, warmup, betas, beta1, beta2
//   train_file, valid_file             samples in JSON lines
//   save_dir, save_every, save_last, resume, resume_from
//   targets                            of LoRA, by NeMo's names

#ifndef RECIPEC_IMPORT_FOUNDJOB_H
#define RECIPEC_IMPORT_FOUNDJOB_H

#include "compiler/import/Job.h"
#include "compiler/import/Rules.h"

#include <string>
#include <vector>

namespace recipec::importer {

/// Makes the job. A configuration without a model becomes a mixin. Reports at
/// `range` a model that the library lacks.
std::optional<Job> jobOf(Found found, const std::vector<Model>& library,
                         SourceRange range, diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_FOUNDJOB_H
