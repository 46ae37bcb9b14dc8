// Checks that a run would find the data, tokenizer and weights of its recipe.
//
// Paths are looked up where the run looks them up. The beginnings of files are
// read with the run's readers in runtime/data. The cost of the check is
// bounded; only the run reads whole files.

#ifndef RECIPEC_FILES_CHECKINPUTS_H
#define RECIPEC_FILES_CHECKINPUTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace recipec::files {

/// The result of checking the inputs of a run.
struct Findings {
  diag::Engine faults; // errors that would end the run
  diag::Engine doubts; // warnings; the run would continue
};

/// Checks the inputs of `plan`. The paths of `plan` are not resolved: relative
/// paths start in `folder`, which is relative to the working folder. `recipe`
/// is the source of the plan and gives the source ranges, in `sources`. Remote
/// paths are not checked.
Findings checkInputs(const recipe::Recipe& recipe,
                     const reciperun::plan::Plan& plan,
                     const std::string& folder, const SourceMap& sources);

} // namespace recipec::files

#endif // RECIPEC_FILES_CHECKINPUTS_H
