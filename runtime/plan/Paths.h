// How the relative paths of a plan are resolved.
//
// A plan keeps the paths as the recipe's user wrote them. `folder` says where
// relative paths start, relative to the folder of the plan's own file, so that
// plan and data can be moved together. readPlan resolves all paths once, so
// that programs see paths they can open. A plan that is written again has the
// user's paths.

#ifndef RECIPERUN_PLAN_PATHS_H
#define RECIPERUN_PLAN_PATHS_H

#include "runtime/plan/Plan.h"

#include <string>

namespace reciperun::plan {

/// `path` relative to the working folder, where relative paths start in
/// `folder`. Returns absolute and empty paths and addresses unchanged.
std::string resolvePath(const std::string& folder, const std::string& path);

/// The folder of a file, with links followed, or the address of its folder.
/// Paths in the file start there.
/// For something that is not a file (a pipe) or an empty path, the working
/// folder.
std::string folderOfFile(const std::string& file);

/// The path from the folder `from` to the folder `to`, both relative to the
/// working folder. The result is relative if there is a relative path; from an
/// address to a folder there is none.
std::string wayTo(const std::string& to, const std::string& from);

/// The folder in which the relative paths of the plan in `file` start, relative
/// to the working folder. `folder` is the plan's.
std::string startOfPaths(const std::string& file, const std::string& folder);

/// Calls `visit(path, setting)` for each path of a data source.
template <class Source, class Visit>
void eachPathOf(Source& source, const char* setting, Visit&& visit) {
  if (!source.path.empty())
    visit(source.path, setting);
  for (auto& path : source.paths)
    visit(path, setting);
  for (auto& blended : source.sources)
    eachPathOf(blended, setting, visit);
}

/// Calls `visit(path, setting)` for each path of a plan. `setting` is the
/// recipe field that gave it, for example `data.train`.
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
  one(plan.train.tensorboard, "train.tensorboard");
  one(plan.train.mlflow, "train.mlflow");
  one(plan.checkpoint.directory, "checkpoint.dir");
  if (plan.checkpoint.resumesFromPath())
    one(plan.checkpoint.resume, "checkpoint.resume");
  if (plan.draft)
    one(plan.draft->path, "serve.draft");
  one(plan.exchange.weights, "weights");
  one(plan.exchange.hf, "export.hf");
}

/// Resolves the paths of a plan that was read. Call it once. `folder` is
/// relative to the working folder.
void resolvePaths(Plan& plan, const std::string& folder);

/// A plan with resolved paths in the form to write to `file`: with the user's
/// paths, which start in the same folder.
Plan writtenTo(const std::string& file, Plan plan);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PATHS_H
