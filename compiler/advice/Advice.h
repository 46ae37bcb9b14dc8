// Advice: warns about settings of a layout that compile and probably cost
// speed, according to tuning guides and measurements.

#ifndef RECIPEC_ADVICE_ADVICE_H
#define RECIPEC_ADVICE_ADVICE_H

#include "compiler/base/Source.h"
#include "compiler/cost/Estimate.h"
#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <vector>

namespace recipec::advice {

/// A recipe that trains, and the results of compiling it.
struct Subject {
  const recipe::Recipe& recipe;
  const std::vector<ir::Module>& stages;
  const cost::Estimate& estimate;
  const SourceMap& sources; // of the recipe's files
};

/// Reports a warning for each setting that probably costs speed on GPUs, with
/// the evidence as a note and a better setting as the help. If the better
/// setting takes more memory, warns only if a forecast of the memory fits the
/// device. Reports nothing for recipes that serve, and nothing for CPUs.
void advise(const Subject& subject, diag::Engine& engine);

} // namespace recipec::advice

#endif // RECIPEC_ADVICE_ADVICE_H
