// Whether a run would find what its recipe names: data, tokenizer and weights.
//
// Paths are looked up where the run will look, and the beginnings of files are
// read as the run reads them, by runtime/data. What a look costs is bounded;
// the run itself reads everything.

#ifndef RECIPEC_FILES_CHECKINPUTS_H
#define RECIPEC_FILES_CHECKINPUTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <string>

namespace recipec::files {

/// What was found out about the inputs of a run.
struct Findings {
  diag::Engine faults; // with which the run would end
  diag::Engine doubts; // with which it would go on
};

/// Looks for the inputs of `plan`, whose paths are not resolved: relative ones
/// start in `folder`, seen from the working folder. `recipe` is what the plan
/// was made of and says where they stand, in `sources`. Remote paths are not
/// looked for.
Findings checkInputs(const recipe::Recipe& recipe,
                     const reciperun::plan::Plan& plan,
                     const std::string& folder, const SourceMap& sources);

} // namespace recipec::files

#endif // RECIPEC_FILES_CHECKINPUTS_H
