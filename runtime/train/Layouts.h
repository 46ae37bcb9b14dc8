// The plans of a run for different numbers of ranks, between which its restarts
// choose.

#ifndef RECIPERUN_TRAIN_LAYOUTS_H
#define RECIPERUN_TRAIN_LAYOUTS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace reciperun::train {

/// A plan and the path of its file.
struct Layout {
  std::string path;
  plan::Plan plan;
};

/// Orders plans of one run by ranks, most ranks first. Fails when they are of
/// different runs: when they write to different folders, train on another
/// global batch, or two have as many ranks.
Status orderLayouts(std::vector<Layout>& layouts);

/// The plan with the most ranks for which the hosts in `hostfile` have slots,
/// other than the `silent` hosts. The first plan where it is the only one and
/// all hosts answer, or without a file, or where a line of it gives no slots.
/// Fails when no plan is narrow enough.
Expected<const Layout*>
widestLayout(const std::vector<Layout>& layouts, const std::string& hostfile,
             const std::vector<std::string>& silent = {});

/// `` `host-a` does not answer ``, with all names.
std::string silenceText(const std::vector<std::string>& silent);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_LAYOUTS_H
