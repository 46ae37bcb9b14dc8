// Advice: settings of a layout that compile and probably cost speed, by what
// tuning guides and measurements say.

#ifndef RECIPEC_ADVICE_ADVICE_H
#define RECIPEC_ADVICE_ADVICE_H

#include "compiler/base/Source.h"
#include "compiler/cost/Estimate.h"
#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <vector>

namespace recipec::advice {

/// A recipe that trains, and what the compiler has made of it.
struct Subject {
  const recipe::Recipe& recipe;
  const std::vector<ir::Module>& stages;
  const cost::Estimate& estimate;
  const SourceMap& sources; // of the recipe's files
};

/// Reports a warning for each setting that probably costs speed on GPUs, with
/// the evidence as a note and a better setting as the help. Where that setting
/// takes more memory, the warning is given only if a forecast fits the device.
/// Reports nothing about recipes that serve, and about CPUs.
void advise(const Subject& subject, diag::Engine& engine);

} // namespace recipec::advice

#endif // RECIPEC_ADVICE_ADVICE_H
