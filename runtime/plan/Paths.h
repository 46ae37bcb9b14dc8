// Where the relative paths of a plan lead.
//
// A plan keeps the paths that a recipe's user wrote, and says in `folder` where
// relative ones start, as seen from the folder of the plan's own file: plan and
// data can be moved together. readPlan resolves all paths once, so that
// programs see paths that they can open; a plan that is written again has the
// written ones.

#ifndef RECIPERUN_PLAN_PATHS_H
#define RECIPERUN_PLAN_PATHS_H

#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::plan {

/// Whether a path is of an object store (`s3://bucket/prefix`) or another
/// scheme: no folder of this machine leads to it.
bool isRemote(const std::string& path);

/// `path` as seen from the working folder, where relative paths start in
/// `folder`. Absolute, remote and empty paths stay as they are.
std::string resolvePath(const std::string& folder, const std::string& path);

/// The folder of a file, links followed: paths in a file start there. Of what
/// is no file (a pipe) and of an empty path it is the working folder.
std::string folderOfFile(const std::string& file);

/// The way from the folder `from` to the folder `to`, both seen from the
/// working folder: relative where there is one.
std::string wayTo(const std::string& to, const std::string& from);

/// The folder in which the relative paths of the plan in `file` start, seen
/// from the working folder; `folder` is the plan's.
std::string startOfPaths(const std::string& file, const std::string& folder);

/// Calls `visit(path, setting)` for each path of a source of data.
template <class Source, class Visit>
void eachPathOf(Source& source, const char* setting, Visit&& visit) {
  if (!source.path.empty())
    visit(source.path, setting);
  for (auto& path : source.paths)
    visit(path, setting);
  for (auto& blended : source.sources)
    eachPathOf(blended, setting, visit);
}

/// Calls `visit(path, setting)` for each path that a plan has; `setting` is the
/// field of the recipe that gave it, such as `data.train`.
template <class SomePlan, class Visit>
void eachPath(SomePlan& plan, Visit&& visit) {
  auto one = [&](auto& path, const char* setting) {
    if (!path.empty())
      visit(path, setting);
  };
  if (plan.data.train)
    eachPathOf(*plan.data.train, "data.train", visit);
  if (plan.data.valid)
    eachPathOf(*plan.data.valid, "data.valid", visit);
  one(plan.data.tokenizer, "tokenizer");
  one(plan.train.directory, "train.dir");
  one(plan.checkpoint.directory, "checkpoint.dir");
  if (plan.checkpoint.resumesFromPath())
    one(plan.checkpoint.resume, "checkpoint.resume");
  one(plan.exchange.weights, "weights");
  one(plan.exchange.hf, "export.hf");
}

/// Resolves the paths of a plan that was read, once; `folder` is seen from the
/// working folder.
void resolvePaths(Plan& plan, const std::string& folder);

/// A plan with resolved paths as it is written to `file`: the paths are those
/// of the user, and start in the same folder.
Plan writtenTo(const std::string& file, Plan plan);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PATHS_H
