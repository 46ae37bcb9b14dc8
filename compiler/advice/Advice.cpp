// Runs the rules in the order in which a layout is chosen; see Advice.h.

#include "compiler/advice/Advice.h"

#include "compiler/advice/Facts.h"
#include "compiler/advice/Rules.h"
#include "compiler/recipe/Task.h"

namespace recipec::advice {

void advise(const Subject& subject, diag::Engine& engine) {
  if (recipe::serves(subject.recipe) ||
      subject.recipe.string("cluster.hardware.kind") != "cuda")
    return;
  const Facts facts(subject);
  adviseLinks(facts, engine);
  adviseShards(facts, engine);
  adviseInterleaving(facts, engine);
  adviseBalance(facts, engine);
  advisePrecision(facts, engine);
  adviseBuckets(facts, engine);
  adviseRecompute(facts, engine);
  adviseOffload(facts, engine);
}

} // namespace recipec::advice
